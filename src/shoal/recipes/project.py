"""Projects of the studio as files: what was decided, by whom, and what runs found; no rows of the table."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import OutputError, RecipeError
from shoal.support.files import as_utf8, read_small, whole_file

SUFFIX = ".shoal"
EDITION = 1
_MEGABYTES = 64
_KINDS = {
    "name": str,
    "recipe": str,
    "decisions": list,
    "position": int,
    "trees": dict,
    "runs": list,
    "statement": dict,
}
_DECISION = {"when": str, "who": str, "what": list, "state": dict}
_RUN = {"number": int, "name": str, "started": str, "state": str, "recipe": str, "report": dict, "risk": dict}


@dataclass(frozen=True, slots=True)
class Project:
    """A saved session of the studio."""

    name: str
    recipe: str
    """The recipe of what is chosen, as TOML; empty while that cannot be run, as before a goal is chosen."""
    decisions: list[dict[str, Any]] = field(default_factory=list)
    """Oldest first: ``when``, ``who``, ``what`` in words, and the ``state`` after it."""
    position: int = 0
    """Which of the decisions is in force; those after it were undone."""
    trees: dict[str, Any] = field(default_factory=dict)
    """The hierarchies that states name, once each."""
    runs: list[dict[str, Any]] = field(default_factory=list)
    """Number, name, recipe, report and risks of each run."""
    statement: dict[str, Any] = field(default_factory=dict)
    """What people state for the dossier."""

    def require_recipe(self, path: Path) -> str:
        """The recipe; an error if there is none yet."""
        if not self.recipe:
            raise RecipeError(
                f"{path} cannot be run yet: open it in the studio, and choose columns and a goal"
            )
        return self.recipe

    def to_text(self) -> str:
        """As it stands in a file."""
        plain = {"shoal-project": EDITION, **asdict(self)}
        return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"

    def save(self, path: Path) -> None:
        """Write it to a file that its owner alone can read: hierarchies can name values of the table."""
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"{path.parent}: cannot make the folder of projects: {error.strerror}"
            ) from error
        with whole_file(path, private=True) as stream:
            stream.write(self.to_text().encode())

    @classmethod
    def load(cls, path: Path) -> Project:
        """Read a file that `save` wrote.

        Raises
        ------
        RecipeError
            When it is none, or of a later edition.
        """
        try:
            plain = json.loads(as_utf8(path, read_small(path, _MEGABYTES)))
            edition = plain["shoal-project"]
            made = cls(**{key: _check_kind(plain[key], kind) for key, kind in _KINDS.items()})
            for listed, kinds in ((made.decisions, _DECISION), (made.runs, _RUN)):
                for each in listed:
                    _ = [_check_kind(each[key], kind) for key, kind in kinds.items()]
            if not 0 <= made.position < max(len(made.decisions), 1):
                raise ValueError
        except OSError as error:
            raise RecipeError(f"{path}: cannot read the project: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RecipeError(f"{path} is no project of the studio, or it is damaged") from error
        if edition != EDITION:
            raise RecipeError(f"{path} is a project of edition {edition}: this Shoal reads edition {EDITION}")
        return made


def _check_kind(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError
    return value


def name_project_file(name: str) -> str:
    """The name of the file of a project, whatever was typed."""
    plain = re.sub(r"[\x00-\x1f/\\:*?\"<>|]", "_", name).strip().strip(".")[:60]
    return f"{plain or 'project'}{SUFFIX}"


def find_projects_folder() -> Path:
    """Where the studio keeps projects: ``SHOAL_PROJECTS``, or where a user's data are on this system."""
    if named := os.environ.get("SHOAL_PROJECTS"):
        return Path(named).expanduser()
    if sys.platform == "win32":
        data = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        data = Path.home() / "Library" / "Application Support"
    else:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return data / "shoal" / "projects"


def list_projects() -> Iterator[Path]:
    """The projects that are kept, the latest first."""
    try:
        found = [(path.stat().st_mtime, path) for path in find_projects_folder().glob(f"*{SUFFIX}")]
    except (OSError, RuntimeError):  # there is no home
        return
    yield from (path for _, path in sorted(found, reverse=True))
