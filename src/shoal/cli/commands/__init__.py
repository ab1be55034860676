"""The commands, one file each.

The table is all that ``shoal --help`` loads of them. The file of a command is loaded when that command is
asked for, so it imports at its top what it needs.
"""

from __future__ import annotations

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command: its name, its file below this folder, and the first paragraph of its help.

    The function that runs it has the name of the file.
    """

    name: str
    module: str
    help: str
    group: str = ""
    """The group that it stands in; empty for a command that stands alone."""


GROUPS = {
    "hierarchy": "Make, draw, check and convert hierarchies: trees over the values of a column.",
    "cache": "Show, remove or make the compiled kernels that are kept for this user.",
}

# In the order of the help.
COMMANDS = (
    CommandEntry(
        "anonymize",
        "anonymize",
        "Read a table, find a release that meets the goal with little loss, verify it, write it.",
    ),
    CommandEntry(
        "verify", "verify", "Re-check a released file as an outsider would: group equal rows and count."
    ),
    CommandEntry(
        "run", "run", "Do everything that a recipe file says; the same recipe and input give the same bytes."
    ),
    CommandEntry(
        "dossier",
        "dossier",
        "Make a dossier of a report: contents, figures, decisions, and lines to sign on.",
    ),
    CommandEntry("apply", "apply", "Put later rows into the classes of an earlier release."),
    CommandEntry("sample", "sample", "Make a table to try things on: realistic, and of nobody."),
    CommandEntry("demo", "demo", "Do the main job on a shipped table, start to finish, and show every step."),
    CommandEntry(
        "teach",
        "teach",
        "Watch textbook algorithms at work on a small table: brute force, evolution, and what follows.",
    ),
    CommandEntry(
        "studio",
        "studio",
        "Open the studio: a page in the browser that leads from a table to a verified release.",
    ),
    CommandEntry(
        "attack",
        "attack",
        "Attack a release as somebody would who knows people, and count how often that succeeds.",
    ),
    CommandEntry("risk", "risk", "How re-identifiable is this table, by which columns, and to whom?"),
    CommandEntry(
        "suggest",
        "suggest",
        "Propose types, roles and hierarchies for a table, with reasons, and a recipe that runs as it is.",
    ),
    CommandEntry(
        "compare",
        "compare",
        "Try several algorithms and several k (and l) side by side: loss, risk, classes, time.",
    ),
    CommandEntry(
        "search",
        "search",
        "Try privacy goals and measure what each costs an estimator that is to predict a column.",
    ),
    CommandEntry(
        "minimize",
        "minimize",
        "Find out how little detail an estimator needs: which columns not at all, which in coarse ranges.",
    ),
    CommandEntry("build", "hierarchy.build", "Build a hierarchy over the values of a column.", "hierarchy"),
    CommandEntry(
        "show",
        "hierarchy.show",
        "Draw the tree, with the number of rows below each node if a table is given.",
        "hierarchy",
    ),
    CommandEntry(
        "check",
        "hierarchy.check",
        "Find all that is wrong with a hierarchy, and say what would put it right.",
        "hierarchy",
    ),
    CommandEntry("convert", "hierarchy.convert", "Write a hierarchy in another format.", "hierarchy"),
    CommandEntry("list", "hierarchy.list_ready", "List the hierarchies that ship with Shoal.", "hierarchy"),
    CommandEntry(
        "info", "cache.info", "Show where compiled kernels are, and how much room they take.", "cache"
    ),
    CommandEntry(
        "clear",
        "cache.clear",
        "Remove the kernels that were compiled on this machine; they are compiled again when they are "
        "needed.",
        "cache",
    ),
    CommandEntry(
        "warm",
        "cache.warm",
        "Compile every kernel that is not there, so that no run has to: for images, and before going "
        "offline.",
        "cache",
    ),
)
