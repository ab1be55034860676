"""``shoal risk``: how re-identifiable a table is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from shoal.assessment.risks import THRESHOLDS, RiskQuestion, analyze_risk
from shoal.assessment.risks.analysis import analyze_tables
from shoal.assessment.risks.attackers import check_thresholds
from shoal.assessment.risks.terminal import show_risk
from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.options import option
from shoal.cli.screen import make_console, print_if_json, progress
from shoal.engines.api import known_columns
from shoal.engines.released_tables import read_released_tables
from shoal.privacy.known_rows import SMALL
from shoal.table import check_writable, read_table
from shoal.table.native import leave_everything_out

_PEOPLE = "The population"
_FIGURES = "What is counted"


def risk(
    input: o.TableFile,
    events: o.Events = None,
    quasi: o.Quasi = None,
    sensitive: o.Sensitive = None,
    identifier: o.Identifier = None,
    person: o.Person = None,
    group: o.Group = None,
    roles: o.Roles = None,
    type: o.Type = None,
    order: o.Order = None,
    hierarchies: o.Hierarchies = None,
    population: Annotated[
        Path | None,
        option(
            "--population", panel=_PEOPLE, metavar="FILE", help="A table of everybody who could be in it."
        ),
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        option(
            "--sampling-fraction",
            panel=_PEOPLE,
            metavar="SHARE",
            help="Instead: which share of them is in the table, 0 to 1.",
        ),
    ] = None,
    weight_column: Annotated[
        str | None,
        option(
            "--weight-column",
            panel=_PEOPLE,
            metavar="COLUMN",
            help="Instead: survey weights, how many people each row stands for.",
        ),
    ] = None,
    strata: Annotated[
        list[str] | None,
        option(
            "--strata",
            panel=_FIGURES,
            metavar="COLUMNS",
            help="Tell the risk of the rows of each stratum, such as a region. Repeatable.",
        ),
    ] = None,
    wildcard: Annotated[
        list[str] | None,
        option(
            "--wildcard",
            panel=_FIGURES,
            metavar="TEXT",
            help="Cells of this text match anything, as '*' for suppressed ones; '' for missing cells. "
            "Repeatable.",
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        option(
            "--threshold",
            panel=_FIGURES,
            metavar="RISK",
            help="Count the rows with a higher risk; 0.05, 0.09, 0.2, 0.33 and 0.5 if not said. Repeatable.",
        ),
    ] = None,
    largest: Annotated[
        int | None,
        option(
            "--largest",
            panel=_FIGURES,
            metavar="N",
            help="Look at sets of up to N columns: 4 if not said, 1 for single columns only.",
        ),
    ] = None,
    suda: Annotated[
        int | None,
        option(
            "--suda",
            panel=_FIGURES,
            metavar="N",
            help="Find special uniques (SUDA2): rows that up to N quasi-identifiers single out.",
        ),
    ] = None,
    k: Annotated[
        int,
        option(
            "--k",
            "-k",
            panel=_FIGURES,
            metavar="N",
            help="With --person: count the people in groups of fewer than N.",
        ),
    ] = SMALL,
    seed: Annotated[
        int,
        option(
            "--seed",
            panel=_FIGURES,
            metavar="N",
            help="With --person: by which people are drawn where not all can be looked at.",
        ),
    ] = 0,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            panel=_FIGURES,
            metavar="FILE",
            help="Write the table with the risk of every row.",
        ),
    ] = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    no_header: o.NoHeader = False,
    na: o.Na = None,
    sheet: o.Sheet = None,
    decimal: o.DecimalSign = ".",
    query: o.Query = None,
    details: Annotated[
        bool,
        option(
            "--details",
            panel=o.SHOWN,
            metavar="",
            help="Show all that was measured: every privacy model, more sets of columns, sources.",
        ),
    ] = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """How re-identifiable is this table, by which columns, and to whom?

    [bold]shoal risk people.csv -q age,sex,zip -s illness[/bold]

    Classes are counted as they are, in a raw table as in a release. Without --quasi the roles are those
    that 'shoal suggest' proposes. What is dangerous is said, not judged: the exit code is 0.
    """
    if output:
        check_writable(output, [path for path in (input, population) if path])
    limits = check_thresholds(threshold if threshold else THRESHOLDS)
    RiskQuestion(
        (),
        population=population,
        fraction=sampling_fraction,
        largest=largest,
        person=person,
        k=k,
        group=group,
        suda=suda,
        weight=weight_column,
        strata=tuple(strata or ()),
        wildcards=tuple(wildcard or ()),
    )  # refused before reading
    reading = a.reading_options(delimiter, encoding, no_header, na, sheet, decimal=decimal, query=query)
    with progress(quiet) as on_progress:
        on_progress("read", 0.0)
        tables = read_released_tables(input, a.events_of(events), reading) if events else {}
        table = (
            a.name_columns(tables) if tables else read_table(input, reading, left_out=leave_everything_out)
        )
        role = a.roles_of(
            table, roles, quasi, sensitive, identifier, None, needed=False, person=person, group=group
        )
        known = known_columns(
            (*role["quasi"], *role["sensitive"]),
            a.trees_of(table, hierarchies),
            a.types_of(table, None, type),
            a.orders_of(order),
        )
        question = RiskQuestion(
            role["quasi"],
            role["sensitive"],
            role["identifier"],
            population,
            sampling_fraction,
            limits,
            largest,
            known,
            person,
            k,
            seed,
            group,
            suda,
            weight_column,
            tuple(a.names_of(table, strata or ())),
            tuple(wildcard or ()),
        )
        found = (
            analyze_tables(tables, question, reading, on_progress)
            if tables
            else analyze_risk(table, question, reading, on_progress)
        )
        if output:
            on_progress("write", 0.0)
            found.write(output)
    if print_if_json(found.to_dict, as_json, quiet):
        show_risk(make_console(), str(input), found, details)
