"""What can go wrong, in words a user can act on.

::

    ShoalError                 exit code 1 unless a subclass says otherwise
    ├── InputError             2  a file, a value, a column or an option that cannot be used
    │   ├── ChangedError       2  a file that somebody wrote to while it was read
    │   ├── RecipeError        2  a recipe that contradicts itself or names what is not there
    │   └── PluginError        2  an extension of another distribution that cannot be used
    ├── OutputError            2  the release could not be written; nothing was left behind
    ├── GoalNotMet             3  the privacy goal is out of reach; nothing was released
    └── InternalError          1  a promise of Shoal itself failed: please report it

Messages name the offending value, where it stands, and what would be accepted.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, ClassVar

_PASSING = frozenset(
    (
        errno.EAGAIN,
        errno.EBUSY,
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.EINTR,
        errno.EIO,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.ETIMEDOUT,
    )
)  # errors of the system that need not come again


class ShoalError(Exception):
    """Base of every error that Shoal raises on purpose."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "internal"
    """What kind of error it is, for programs: it stays the same, whatever the message says."""


class InputError(ShoalError):
    """The input cannot be used as it is."""

    exit_code = 2
    code = "input"


class ChangedError(InputError):
    """The input was another one at the end than at the beginning."""

    code = "changed"


class RecipeError(InputError):
    """The settings of a run contradict each other or the table."""

    code = "recipe"


class PluginError(InputError):
    """An extension of another distribution cannot be loaded, or takes a name that is taken."""

    code = "plugin"


class OutputError(ShoalError):
    """The release could not be written; nothing was left behind."""

    exit_code = 2
    code = "output"


class GoalNotMet(ShoalError):
    """No table that satisfies the privacy goal was found, so none is released."""

    exit_code = 3
    code = "goal"
    findings: tuple[Any, ...] = ()
    """What the release gives away as a whole, where it was refused for that."""


class InternalError(ShoalError):
    """Something that Shoal promises did not hold: a bug, never the user's fault."""


def may_pass(error: BaseException | None) -> bool:
    """Whether the same run may succeed later, although nobody has changed anything of it.

    So it is after a lost connection, a full disk, or a file that somebody wrote to; not after wrong
    credentials or a wrong recipe.
    """
    if isinstance(error, ChangedError | MemoryError):
        return True
    while error is not None:
        if isinstance(error, OSError) and error.errno in _PASSING:
            return True
        error = error.__cause__ or error.__context__
    return False


def quote(names: Iterable[object], limit: int = 8) -> str:
    """List ``names`` in quotes, the first ``limit`` of them and how many more there are."""
    every = [f"'{name}'" for name in names]
    rest = len(every) - limit
    return ", ".join(every[:limit]) + (f" and {rest} more" if rest > 0 else "")


def unknown(what: str, name: str, options: Iterable[str]) -> str:
    """Say that ``name`` is no such ``what``, with the nearest option or all of them."""
    known = list(options)
    # Letters in another case count as other letters there, so that is tried as well.
    close = get_close_matches(name, known, n=1, cutoff=0.6) or [
        option for option in known if option.casefold() == name.casefold()
    ]
    hint = (
        f"did you mean '{close[0]}'?"
        if close
        else f"there are {quote(known, 20)}"
        if known
        else "there are none"
    )
    return f"unknown {what} '{name}': {hint}"
