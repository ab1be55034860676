"""What `shoal risk` and `shoal suggest` show on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoal.assessment.risks.analysis import Risk
from shoal.assessment.risks.people import PeopleRisk
from shoal.assessment.risks.special import SpecialUniques
from shoal.assessment.risks.subsets import ColumnSet
from shoal.assessment.risks.suggestion import Suggestion
from shoal.privacy.known_rows import format_known
from shoal.report.terminal import draw_bar
from shoal.report.terminal_parts import format_percent, indent_block, plain_table
from shoal.support.rates import CONFIDENCE

_COLOURS = {"quasi": "yellow", "sensitive": "red", "identifier": "magenta", "person": "cyan", "plain": "dim"}
# Bounds where common demands lie: 5, 11 and 20 rows, as in `presets`.
_SIZES = ((1, 1), (2, 4), (5, 10), (11, 19), (20, 49), (50, 99), (100, None))
_FEW_COLUMNS, _MOST_COLUMNS, _FEW_SETS, _MOST_SETS = 6, 30, 3, 5
_ATTACKERS = "How sure an attacker can be whose row it is"
_COLUMNS = "How each column tells rows apart"
_SETS = "Sets of columns that single out most"
_DEMANDS = "Common demands"
_TELLING = "Columns that tell rows apart most"
_MORE = (
    "--details shows all columns, more sets of them, what each privacy model finds, and the sources of the "
    "demands"
)


def show_risk(console: Console, source: str, found: Risk, details: bool = False) -> None:
    """Print how dangerous a table is: the most important figures, or with ``details`` all of them."""
    console.print(_format_headline(source, found))
    for title, part in _list_details(found) if details else _list_summary(found):
        _print_section(console, title, part)
    _print_items(console, found.warnings)
    if not details:
        console.print(f"\n[dim]{_MORE}[/]")


def show_suggestion(console: Console, found: Suggestion, recipe: str | None) -> None:
    """Print what a table is taken for and what to do with it."""
    console.print(Text(f"{found.source}: {found.rows:,} rows, {len(found.columns)} columns"), soft_wrap=True)
    _print_section(console, "The roles of its columns, and why", _draw_roles(found))
    if found.sets.telling:
        title = f"Columns that together single out at least {found.sets.limit:.0%} of the rows"
        _print_section(console, title, _draw_column_sets(found.sets.telling))
    if found.hierarchies:
        _print_section(
            console, "Hierarchies that would make a release easier to read", _draw_hierarchies(found)
        )
    _print_items(console, found.notes)
    if found.recipe is None:
        return
    console.print("\n[bold cyan]What to do[/]")
    lines = [f"shoal run {recipe}" if recipe else found.command]
    lines += (
        [] if recipe else ["shoal suggest ... -o recipe.toml     # the same as a recipe, with the reasons"]
    )
    for line in lines:
        console.print(Text(f"  {line}"), soft_wrap=True)  # not wrapped, so that it can be copied whole


def _print_section(console: Console, title: str, part: RenderableType) -> None:
    console.print(f"\n[bold cyan]{title}[/]")
    console.print(indent_block(part))


def _print_items(console: Console, texts: Sequence[str]) -> None:
    if texts:
        console.print()
    for text in texts:
        # A grid, so that the second line of a text does not begin under the mark.
        line = Table.grid(padding=(0, 1))
        line.add_row(Text("!", "yellow"), Text(text))
        console.print(line)


def _format_headline(source: str, found: Risk) -> Text:
    by = ", ".join(found.quasi)
    alone = Text(f"{found.unique_rows:,} ({format_percent(found.uniqueness)})", "bold")
    people = "" if found.people is None else f" of {found.people:,} people"
    unit = "" if found.people is None else " people" if found.smallest_class > 1 else " person"
    size = (
        f"{found.rows:,} rows{people} in {found.classes:,} classes, the smallest of "
        f"{found.smallest_class:,}{unit}. "
    )
    return Text.assemble(
        f"{source}: {size}Anyone who knows {by} of a person in the table finds the row for certain for ",
        alone,
        " of them.",
    )


def _list_summary(found: Risk) -> Iterator[tuple[str, RenderableType]]:
    yield _ATTACKERS, Group(_draw_attackers(found), *_sum_up_attackers(found))
    yield from _list_members(found)
    columns = found.sets.columns
    # A hundredth of the rows more or less that stand alone says little: then the pairs decide.
    few = sorted(columns, key=lambda each: (round(each.uniqueness, 2), each.separation), reverse=True)
    few = few[:_FEW_COLUMNS]
    yield (_COLUMNS if len(few) == len(columns) else _TELLING), _draw_columns(found, few)
    # The largest sets single out most rows: those of fewer columns are parts of them.
    if worst := [one for each in found.sets.sizes[-1:] for one in each.worst[:_FEW_SETS]]:
        yield _SETS, _draw_column_sets(worst)
    yield _DEMANDS, _draw_presets_briefly(found)


def _list_members(found: Risk) -> Iterator[tuple[str, RenderableType]]:
    """What is said of people and classes, in short and in full."""
    if found.people_risk is not None:
        yield "What known rows of a person tell", draw_people_risk(found.people_risk)
    if found.strata:
        yield "The risk by stratum", _draw_strata(found)
    yield "How large the classes are", _draw_class_sizes(found)
    if found.uniques is not None:
        yield "Unique in the whole population (estimated)", _draw_uniques(found)
    if found.special is not None:
        yield "Special uniques: rows that few columns single out (SUDA)", _draw_special(found.special)


def _list_details(found: Risk) -> Iterator[tuple[str, RenderableType]]:
    yield _ATTACKERS, Group(_draw_attackers(found), *_sum_up_attackers(found), *_explain_attackers(found))
    yield from _list_members(found)
    yield "What each privacy model finds in the table as it is", _draw_models(found)
    yield _COLUMNS, _draw_columns(found, found.sets.columns)
    if found.added:
        yield "If one column more is known than the quasi-identifiers", _draw_added_columns(found)
    if any(each.worst for each in found.sets.sizes):
        yield _SETS, _draw_sets_by_size(found)
    yield _DEMANDS, _draw_presets(found)


def _draw_attackers(found: Risk) -> Table:
    known = {"prosecutor": found.prosecutor}
    if found.journalist is not None:
        known["journalist"] = found.journalist
    table = plain_table("", *known, "marketer")
    _align_right(table, range(1, 2 + len(known)))
    table.add_row("worst row", *(format_percent(each.maximum) for each in known.values()))
    # A marketer has no worst row: only the average over all guesses counts.
    table.add_row(
        "average", *(format_percent(each.average) for each in known.values()), format_percent(found.marketer)
    )
    for at, (limit, _) in enumerate(found.prosecutor.above):
        rows = (format_percent(each.above[at][1]) for each in known.values())
        table.add_row(f"{'rows' if found.people is None else 'people'} with a risk above {limit:g}", *rows)
    return table


_HOW_KNOWN = {
    "table": "as the population table has them",
    "fraction": "estimated from the share",
    "weights": "estimated from the survey weights",
}


def _draw_strata(found: Risk) -> Table:
    columns = ["stratum", "rows", "unique", "prosecutor"]
    columns += ["expected"] if found.journalist is None else ["journalist", "expected"]
    table = plain_table(*columns, "worst row")
    _align_right(table, range(1, 1 + len(columns)))
    for each in found.strata[:_MOST_COLUMNS]:
        risks = [each.prosecutor] + ([] if each.journalist is None else [each.journalist])
        table.add_row(
            Text(", ".join("(missing)" if value is None else value for value in each.values)),
            f"{each.rows:,}",
            f"{each.unique_rows:,}",
            *map(format_percent, risks),
            f"{each.expected:,.1f}",
            format_percent(each.highest),
        )
    if len(found.strata) > _MOST_COLUMNS:
        table.add_row(Text(f"{len(found.strata) - _MOST_COLUMNS} more; --json has all", "dim"))
    return table


def _sum_up_attackers(found: Risk) -> Iterator[Text]:
    """What the attackers achieve in the table as a whole."""
    yield Text(f"expected re-identifications, if all rows are guessed: {found.expected:,.1f}")
    if (survey := found.survey) is not None:
        yield Text(
            f"by the weights in '{survey.column}' the rows stand for {survey.people:,.0f} people, and at "
            f"least {survey.smallest:,.1f} of them fit any row (k-map); {survey.unique_people:,.1f} rows are "
            "expected to be of people who are unique among all"
        )


def _explain_attackers(found: Risk) -> Iterator[Text]:
    lines = ["prosecutor: knows that the person is in the table, and guesses among the rows of the class"]
    if found.journalist is not None:
        how = _HOW_KNOWN[found.known_by or "fraction"]
        lines.append(f"journalist: does not know that, and guesses among all people who fit, {how}")
    else:
        lines.append(
            "journalist: not known without --population, --sampling-fraction or --weight-column; at most the "
            "prosecutor"
        )
    lines.append("marketer: guesses for every row, and counts how many guesses are right")
    yield from (Text(line, "dim") for line in lines)


def draw_people_risk(found: PeopleRisk) -> Group:
    """The curve, what else can be known, and the people by their number of rows."""
    table = plain_table("known of a person", "unique", f"{CONFIDENCE:.0%}", "", f"below {found.k}", "by some")
    _align_right(table, (1, 2, 4, 5))
    for each in found.curve:
        table.add_row(
            format_known(each.known),
            format_percent(each.unique.value),
            "" if each.is_exact else f"{100 * each.unique.low:.1f}..{100 * each.unique.high:.1f}",
            draw_bar(each.unique.value, 12),
            format_percent(each.below.value),
            "" if each.ever_unique is None else format_percent(each.ever_unique),
        )
    for one in found.otherwise:
        bar = draw_bar(one.unique, 12)
        table.add_row(one.about, format_percent(one.unique), "", bar, format_percent(one.below), "")
    notes = [
        f"{found.rows:,} rows of {found.people:,} people, counted; unique: nobody else has these rows, which "
        "are drawn at random from those of the person (all of them, if there are fewer)",
        f"below {found.k}: fewer than {found.k} people have them; by some: unique by the most telling choice",
        f"static columns: {', '.join(found.static) or 'none'}, the same in all rows of a person",
    ]
    if drawn := [each.looked_at for each in found.curve if not each.is_exact]:
        notes.append(
            f"lines with an interval are estimated: {drawn[0]:,} people drawn by seed {found.seed}, and one "
            "choice of rows of each"
        )
    parts = (*_draw_by_number_of_rows(found), *_draw_group_risk(found))
    return Group(table, *(Text(note, "dim") for note in notes), *parts)


def _draw_by_number_of_rows(found: PeopleRisk) -> Iterator[RenderableType]:
    # With one row each, the lines above say it all.
    if len(found.by_rows) < 2 and found.rows == found.people:
        return
    table = plain_table("people with", "people", "unique by one row", "unique by all rows")
    _align_right(table, range(1, 4))
    for each in found.by_rows:
        many = f"{each.fewest}" if each.fewest == each.most else f"{each.fewest:,} to {each.most:,}"
        unit = "row" if each.most == 1 else "rows"
        shares = format_percent(each.by_one), format_percent(each.by_all)
        table.add_row(f"{many} {unit}", f"{each.people:,}", *shares)
    yield Text()
    yield table


def _draw_group_risk(found: PeopleRisk) -> Iterator[Text]:
    group = found.group
    if group is None:
        return
    yield Text()
    yield Text(
        f"{group.groups:,} groups; {group.people:,} people have others of their group in the table. Whoever "
        "knows a row of one of them finds the group, and with it the others, for certain in "
        f"{format_percent(group.certain)} of the cases, and by guessing in {format_percent(group.guess)}."
    )


def _draw_class_sizes(found: Risk) -> Table:
    unit = "rows" if found.people is None else "people"
    members = sum(size * many for size, many in found.sizes)
    table = plain_table(f"{unit} in the class", "classes", unit, "")
    _align_right(table, range(1, 3))
    for low, high in _SIZES:
        inside = [(s, many) for s, many in found.sizes if low <= s and (high is None or s <= high)]
        rows = sum(size * many for size, many in inside)
        label = f"{low} and more" if high is None else str(low) if low == high else f"{low} to {high}"
        if rows:
            table.add_row(
                label, f"{sum(many for _, many in inside):,}", f"{rows:,}", draw_bar(rows / members)
            )
    return table


def _draw_special(found: SpecialUniques) -> Group:
    table = plain_table("column", "share of all scores", "")
    _align_right(table, (1,))
    for name, share in sorted(found.contributions, key=lambda each: -each[1])[:_MOST_COLUMNS]:
        table.add_row(Text(name), format_percent(share), draw_bar(share, 12))
    listed = ", ".join(f"{many:,} of {size}" for size, many in enumerate(found.sizes, 1))
    lines = [
        f"{found.rows:,} rows have minimal sample uniques of up to {found.largest} columns: {listed}",
        f"highest score of a row: {found.score.max():,.0f}",
    ]
    if found.chance is not None:
        lines.append(f"highest chance that a match is right (DIS-SUDA): {format_percent(found.chance.max())}")
    return Group(table, *map(Text, lines))


def _draw_uniques(found: Risk) -> Group:
    estimates = found.uniques
    assert estimates is not None
    table = plain_table("estimator", "people", "share of the population", "")
    _align_right(table, range(1, 3))
    for name in ("zayatz", "pitman", "snb"):
        value = getattr(estimates, name)
        mark = Text("← taken, by Dankar's rule", "bold") if name == estimates.chosen else ""
        shown = (
            ("no answer", "")
            if value is None
            else (f"{value:,.0f}", format_percent(value / estimates.population))
        )
        table.add_row(name, *shown, mark)
    of = (
        f"of {estimates.population:,} people, of whom the table has "
        f"{format_percent(estimates.sampling_fraction)}"
    )
    return Group(table, Text(of, "dim"))


def _draw_models(found: Risk) -> Group:
    measured = found.measures
    table = plain_table("model", "reached")
    table.add_row("k", f"{measured.k}")
    table.add_row("max-risk, average-risk", f"{measured.max_risk:.4g}, {measured.average_risk:.4g}")
    table.add_row("uniqueness", f"{measured.uniqueness:.4g}")
    # Both need a population, and are None without one.
    if measured.k_map is not None and measured.presence is not None:
        table.add_row("k-map", f"{measured.k_map}")
        low, high = measured.presence["low"], measured.presence["high"]
        table.add_row("delta-presence", f"{low:.4g} to {high:.4g}")
    if not measured.sensitive:
        return Group(table, Text("models about sensitive values need --sensitive", "dim"))
    return Group(table, Text(), _draw_sensitive_models(found))


def _draw_sensitive_models(found: Risk) -> Table:
    """One line per model, one column per sensitive column."""
    columns = found.measures.sensitive
    table = plain_table("model", *columns)
    lines: list[tuple[str, str]] = [
        ("distinct-l, p-sensitive", "distinct_l"),
        ("entropy-l", "entropy_l"),
        ("alpha", "alpha"),
        ("t, equal distances", "t_equal"),
        ("t, ordered", "t_ordered"),
        ("t, hierarchical", "t_hierarchical"),
        ("basic-beta", "basic_beta"),
        ("enhanced-beta", "enhanced_beta"),
        ("delta-disclosure", "delta_disclosure"),
        ("delta-disclosure, lenient", "delta_disclosure_lenient"),
    ]
    for name, attribute in lines:
        values = [getattr(each, attribute) for each in columns.values()]
        if any(value is not None for value in values):
            table.add_row(name, *map(_format_figure, values))
    recursive = [_format_recursive(each.recursive_c) for each in columns.values()]
    table.add_row("recursive-cl", *recursive)
    return table


def _format_recursive(by_l: object) -> str:
    pairs = list(by_l.items()) if isinstance(by_l, dict) else []
    return ", ".join(f"c above {_format_figure(c)} for l = {at}" for at, c in pairs[:2]) or "no l"


def _format_figure(value: float | None) -> str:
    if value is None:
        return ""
    return "no value" if value == float("inf") else f"{value:.4g}"


def _draw_columns(found: Risk, columns: Sequence[ColumnSet]) -> Table:
    table = plain_table("column", "role", "values", "rows it singles out", "pairs it tells apart", "")
    _align_right(table, range(2, 5))
    role = dict.fromkeys(found.quasi, "quasi") | dict.fromkeys(found.sensitive, "sensitive")
    for each in columns[:_MOST_COLUMNS]:
        (name,) = each.columns
        its = role.get(name, "")
        cells = f"{each.classes:,}", format_percent(each.uniqueness), format_percent(each.separation)
        table.add_row(Text(name), Text(its, _COLOURS.get(its, "")), *cells, draw_bar(each.separation, 12))
    if len(columns) > _MOST_COLUMNS:
        table.add_row(Text(f"{len(columns) - _MOST_COLUMNS} more; --json has all", "dim"))
    return table


def _draw_added_columns(found: Risk) -> Table:
    table = plain_table("known as well", "rows that stand alone", "instead of")
    _align_right(table, range(1, 3))
    for name, each in found.added[: 2 * _MOST_SETS]:
        table.add_row(Text(name), format_percent(each.uniqueness), format_percent(found.uniqueness))
    return table


def _draw_sets_by_size(found: Risk) -> Group:
    notes = [
        f"{each.telling:,} of {each.seen:,} {'sampled ' if each.sampled else ''}sets of {each.size} columns "
        f"single out at least {found.sets.limit:.0%} of the rows"
        + (f"; there are {each.possible:,}" if each.sampled else "")
        for each in found.sets.sizes
    ]
    worst = [one for each in found.sets.sizes for one in each.worst[:_MOST_SETS]]
    return Group(_draw_column_sets(worst), *(Text(note, "dim") for note in notes))


def _draw_column_sets(sets: Iterable[ColumnSet], most: int = 4 * _MOST_SETS) -> Table:
    table = plain_table("columns", "rows they single out", "pairs they tell apart")
    _align_right(table, range(1, 3))
    chosen = list(sets)
    for each in chosen[:most]:
        table.add_row(
            Text(", ".join(each.columns)), format_percent(each.uniqueness), format_percent(each.separation)
        )
    if len(chosen) > most:
        table.add_row(Text(f"{len(chosen) - most:,} more; --json has all", "dim"))
    return table


def _draw_presets_briefly(found: Risk) -> Table:
    table = plain_table()
    for each in found.presets:
        table.add_row(Text(each.name, "bold"), _mark_preset(each.holds), Text(each.found))
    return table


def _mark_preset(holds: bool) -> Text:
    return Text("✓ met", "green") if holds else Text("✗ not met", "red")


def _draw_presets(found: Risk) -> Table:
    table = plain_table()
    for each in found.presets:
        text = Text.assemble(
            f"{each.asks}: {each.found}\n",
            (f"source: {each.source}\n", "dim"),
            (f"does not promise {each.not_promised}", "dim"),
        )
        table.add_row(Text(each.name, "bold"), _mark_preset(each.holds), text)
    return table


def _draw_roles(found: Suggestion) -> Table:
    table = plain_table("column", "type", "values", "role", "why")
    _align_right(table, (2,))
    for each in found.columns:
        role = Text(each.role if each.sure else f"{each.role}?", _COLOURS[each.role])
        table.add_row(Text(each.name), each.type, f"{each.values:,}", role, Text(each.why, "dim"))
    return table


def _draw_hierarchies(found: Suggestion) -> Table:
    table = plain_table()
    for each in found.hierarchies:
        table.add_row(Text(each.column), each.builder, Text(each.words, "dim"))
    return table


def _align_right(table: Table, columns: Iterable[int]) -> None:
    for number in columns:
        table.columns[number].justify = "right"
