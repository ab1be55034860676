"""What `shoal risk` and `shoal suggest` show on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from shoal.report.pieces import indented, percent, plain_table
from shoal.report.terminal import bar
from shoal.risk.analysis import Risk
from shoal.risk.subsets import ColumnSet
from shoal.risk.suggestion import Suggestion

_COLOURS = {"quasi": "yellow", "sensitive": "red", "identifier": "magenta", "plain": "dim"}
_SIZES = ((1, 1), (2, 4), (5, 10), (11, 19), (20, 49), (50, 99), (100, None))
_MOST_COLUMNS, _MOST_SETS = 30, 5


def show_risk(console: Console, source: str, found: Risk) -> None:
    """Print how dangerous a table is, from what matters most to what may be looked up."""
    console.print(_headline(source, found))
    for title, part in _risk_parts(found):
        _section(console, title, part)
    _items(console, found.warnings)


def show_suggestion(console: Console, found: Suggestion, recipe: str | None) -> None:
    """Print what a table is taken for and what to do with it."""
    console.print(Text(f"{found.source}: {found.rows:,} rows, {len(found.columns)} columns"), soft_wrap=True)
    _section(console, "The roles of its columns, and why", _roles(found))
    if found.sets.telling:
        title = f"Columns that together single out at least {found.sets.limit:.0%} of the rows"
        _section(console, title, _sets(found.sets.telling))
    if found.hierarchies:
        _section(console, "Hierarchies that would make a release easier to read", _hierarchies(found))
    _items(console, found.notes)
    if found.recipe is None:
        return
    console.print("\n[bold cyan]What to do[/]")
    lines = [f"shoal run {recipe}" if recipe else found.command]
    lines += (
        [] if recipe else ["shoal suggest ... -o recipe.toml     # the same as a recipe, with the reasons"]
    )
    for line in lines:
        console.print(Text(f"  {line}"), soft_wrap=True)  # not wrapped, so that it can be copied whole


def _section(console: Console, title: str, part: RenderableType) -> None:
    console.print(f"\n[bold cyan]{title}[/]")
    console.print(indented(part))


def _items(console: Console, texts: Sequence[str]) -> None:
    if texts:
        console.print()
    for text in texts:
        line = Table.grid(padding=(0, 1))
        line.add_row(Text("!", "yellow"), Text(text))
        console.print(line)


def _headline(source: str, found: Risk) -> Text:
    by = ", ".join(found.quasi)
    alone = Text(f"{found.unique_rows:,} ({percent(found.uniqueness)})", "bold")
    size = f"{found.rows:,} rows in {found.classes:,} classes, the smallest of {found.smallest_class:,}. "
    return Text.assemble(
        f"{source}: {size}Whoever knows {by} of a person in the table finds the row for certain for ",
        alone,
        " of them.",
    )


def _risk_parts(found: Risk) -> Iterator[tuple[str, RenderableType]]:
    yield "How sure an attacker can be whose row it is", _attackers(found)
    yield "How large the classes are", _sizes(found)
    if found.uniques is not None:
        yield "Unique in the whole population (estimated)", _uniques(found)
    yield "What each privacy model finds in the table as it is", _models(found)
    yield "How each column tells rows apart", _columns(found)
    if found.added:
        yield "If one column more is known than the quasi-identifiers", _added(found)
    if any(each.worst for each in found.sets.sizes):
        yield "Sets of columns that single out most", _by_size(found)
    yield "Common demands", _presets(found)


def _attackers(found: Risk) -> Group:
    known = {"prosecutor": found.prosecutor}
    if found.journalist is not None:
        known["journalist"] = found.journalist
    table = plain_table("", *known, "marketer")
    _right(table, range(1, 2 + len(known)))
    table.add_row("worst row", *(percent(each.maximum) for each in known.values()))
    table.add_row("average", *(percent(each.average) for each in known.values()), percent(found.marketer))
    for at, (limit, _) in enumerate(found.prosecutor.above):
        rows = (percent(each.above[at][1]) for each in known.values())
        table.add_row(f"rows with a risk above {limit:g}", *rows)
    lines = ["prosecutor: knows that the person is in the table, and guesses among the rows of the class"]
    if found.journalist is not None:
        how = "as the population table has them" if found.known_by == "table" else "estimated from the share"
        lines.append(f"journalist: does not know that, and guesses among all people who fit, {how}")
    else:
        lines.append(
            "journalist: not known without --population or --sampling-fraction; at most the prosecutor"
        )
    lines.append("marketer: guesses for every row, and counts how many guesses are right")
    return Group(table, *(Text(line, "dim") for line in lines))


def _sizes(found: Risk) -> Table:
    table = plain_table("rows in the class", "classes", "rows", "")
    _right(table, range(1, 3))
    for low, high in _SIZES:
        inside = [(s, many) for s, many in found.sizes if low <= s and (high is None or s <= high)]
        rows = sum(size * many for size, many in inside)
        label = f"{low} and more" if high is None else str(low) if low == high else f"{low} to {high}"
        if rows:
            table.add_row(label, f"{sum(many for _, many in inside):,}", f"{rows:,}", bar(rows / found.rows))
    return table


def _uniques(found: Risk) -> Group:
    estimates = found.uniques
    assert estimates is not None
    table = plain_table("estimator", "people", "share of the population", "")
    _right(table, range(1, 3))
    for name in ("zayatz", "pitman", "snb"):
        value = getattr(estimates, name)
        mark = Text("← taken, by Dankar's rule", "bold") if name == estimates.chosen else ""
        shown = (
            ("no answer", "") if value is None else (f"{value:,.0f}", percent(value / estimates.population))
        )
        table.add_row(name, *shown, mark)
    of = f"of {estimates.population:,} people, of whom the table has {percent(estimates.sampling_fraction)}"
    return Group(table, Text(of, "dim"))


def _models(found: Risk) -> Group:
    measured = found.measures
    table = plain_table("model", "reached")
    table.add_row("k", f"{measured.k}")
    table.add_row("max-risk, average-risk", f"{measured.max_risk:.4g}, {measured.average_risk:.4g}")
    table.add_row("uniqueness", f"{measured.uniqueness:.4g}")
    if measured.k_map is not None and measured.presence is not None:
        table.add_row("k-map", f"{measured.k_map}")
        low, high = measured.presence["low"], measured.presence["high"]
        table.add_row("delta-presence", f"{low:.4g} to {high:.4g}")
    if not measured.sensitive:
        return Group(table, Text("models about sensitive values need --sensitive", "dim"))
    return Group(table, Text(), _sensitive_models(found))


def _sensitive_models(found: Risk) -> Table:
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
            table.add_row(name, *map(_figure, values))
    recursive = [_recursive(each.recursive_c) for each in columns.values()]
    table.add_row("recursive-cl", *recursive)
    return table


def _recursive(by_l: object) -> str:
    pairs = list(by_l.items()) if isinstance(by_l, dict) else []
    return ", ".join(f"c above {_figure(c)} for l = {at}" for at, c in pairs[:2]) or "no l"


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return "no value" if value == float("inf") else f"{value:.4g}"


def _columns(found: Risk) -> Table:
    table = plain_table("column", "role", "values", "rows it singles out", "pairs it tells apart", "")
    _right(table, range(2, 5))
    role = dict.fromkeys(found.quasi, "quasi") | dict.fromkeys(found.sensitive, "sensitive")
    for each in found.sets.columns[:_MOST_COLUMNS]:
        (name,) = each.columns
        its = role.get(name, "")
        cells = f"{each.classes:,}", percent(each.uniqueness), percent(each.separation)
        table.add_row(Text(name), Text(its, _COLOURS.get(its, "")), *cells, bar(each.separation, 12))
    if len(found.sets.columns) > _MOST_COLUMNS:
        table.add_row(Text(f"{len(found.sets.columns) - _MOST_COLUMNS} more; --json has all", "dim"))
    return table


def _added(found: Risk) -> Table:
    table = plain_table("known as well", "rows that stand alone", "instead of")
    _right(table, range(1, 3))
    for name, each in found.added[: 2 * _MOST_SETS]:
        table.add_row(Text(name), percent(each.uniqueness), percent(found.uniqueness))
    return table


def _by_size(found: Risk) -> Group:
    notes = [
        f"{each.telling:,} of {each.seen:,} {'sampled ' if each.sampled else ''}sets of {each.size} columns "
        f"single out at least {found.sets.limit:.0%} of the rows"
        + (f"; there are {each.possible:,}" if each.sampled else "")
        for each in found.sets.sizes
    ]
    worst = [one for each in found.sets.sizes for one in each.worst[:_MOST_SETS]]
    return Group(_sets(worst), *(Text(note, "dim") for note in notes))


def _sets(sets: Iterable[ColumnSet], most: int = 4 * _MOST_SETS) -> Table:
    table = plain_table("columns", "rows they single out", "pairs they tell apart")
    _right(table, range(1, 3))
    chosen = list(sets)
    for each in chosen[:most]:
        table.add_row(Text(", ".join(each.columns)), percent(each.uniqueness), percent(each.separation))
    if len(chosen) > most:
        table.add_row(Text(f"{len(chosen) - most:,} more; --json has all", "dim"))
    return table


def _presets(found: Risk) -> Table:
    table = plain_table()
    for each in found.presets:
        mark = Text("✓ met", "green") if each.holds else Text("✗ not met", "red")
        text = Text.assemble(
            f"{each.asks}: {each.found}\n",
            (f"source: {each.source}\n", "dim"),
            (f"does not promise {each.not_promised}", "dim"),
        )
        table.add_row(Text(each.name, "bold"), mark, text)
    return table


def _roles(found: Suggestion) -> Table:
    table = plain_table("column", "type", "values", "role", "why")
    _right(table, (2,))
    for each in found.columns:
        role = Text(each.role if each.sure else f"{each.role}?", _COLOURS[each.role])
        table.add_row(Text(each.name), each.type, f"{each.values:,}", role, Text(each.why, "dim"))
    return table


def _hierarchies(found: Suggestion) -> Table:
    table = plain_table()
    for each in found.hierarchies:
        table.add_row(Text(each.column), each.builder, Text(each.words, "dim"))
    return table


def _right(table: Table, columns: Iterable[int]) -> None:
    for number in columns:
        table.columns[number].justify = "right"
