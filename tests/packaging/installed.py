"""Install the wheel into an empty environment without compilers, and use it in a folder of its own.

``make wheel`` runs this for real, with every dependency from the package index. The tests ask the same
questions of an environment that borrows its dependencies.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

BINARIES_ONLY = ("--only-binary=:all:", "--quiet", "--disable-pip-version-check")


@dataclass(frozen=True)
class Environment:
    """An environment that Shoal is installed in, and an empty folder to stand in."""

    bin: Path
    folder: Path

    def run(self, *command: str, **variables: str) -> str:
        """What a command prints, with nothing on the PATH but the environment itself."""
        clean = {"PATH": str(self.bin), "HOME": str(self.folder), "LC_ALL": "C.UTF-8", **variables}
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=self.folder,
            env=clean,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(
                f"{' '.join(command)} left with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def ask(self, expression: str) -> str:
        """What an expression of Python is worth there."""
        return self.run("python", "-c", f"import shutil, shoal, pathlib; print({expression})").strip()


def answers_by_both_names(here: Environment, version: str) -> None:
    assert here.run("shoal", "--version") == here.run("python", "-m", "shoal", "--version")
    assert here.run("shoal", "--version") == f"shoal {version}\n"
    assert here.ask("shoal.__version__") == version


def stands_alone(here: Environment, version: str) -> None:
    """It is the installed one, and there is nothing to compile with."""
    assert here.ask("pathlib.Path(shoal.__file__).is_relative_to(__import__('sys').prefix)") == "True"
    assert here.ask("[shutil.which(name) for name in ('cc', 'gcc', 'clang')]") == "[None, None, None]"


def brings_its_data(here: Environment, version: str) -> None:
    assert here.ask("(pathlib.Path(shoal.__file__).parent / 'py.typed').exists()") == "True"
    assert "countries" in here.run("shoal", "hierarchy", "list")
    assert "Europe" in here.run("shoal", "hierarchy", "show", "@countries")
    here.run("shoal", "sample", "hospital", "-o", "hospital.csv", "--rows", "200")


def completes_in_a_shell(here: Environment, version: str) -> None:
    asked = {"_SHOAL_COMPLETE": "complete_bash", "COMP_WORDS": "shoal anonymize --q", "COMP_CWORD": "2"}
    assert set(here.run("shoal", **asked).split()) == {"--quasi", "--query", "--quiet"}


def verifies(here: Environment, version: str) -> None:
    (here.folder / "release.csv").write_text("age,ill\n[20-30],a\n[20-30],b\n", "utf-8")
    assert "the goal holds" in here.run("shoal", "verify", "release.csv", "-q", "age", "-s", "ill", "-k", "2")


# The command, and at the end where its kernels came from and the seconds of processor that it took.
COUNTED = """
import atexit, json, os, sys
from shoal.__main__ import main

def tell():
    from shoal.kernels.compiled import count_kernel_origins
    used = os.times()
    seconds = used.user + used.system + used.children_user + used.children_system
    with open(os.environ["COUNTS"], "w") as file:
        json.dump({**count_kernel_origins(), "seconds": seconds}, file)

atexit.register(tell)
main()
"""


def demonstrated(here: Environment, name: str) -> tuple[dict[str, float], bytes]:
    """Run the demonstration with an empty cache: where the kernels came from, and the release."""
    to, cache = here.folder / f"{name}.json", here.folder / f"{name}-cache"
    settings = {"COUNTS": str(to), "SHOAL_CACHE": str(cache), "TMPDIR": str(here.folder)}
    here.run("python", "-c", COUNTED, "demo", "--folder", name, **settings)
    made = {path.name for path in (here.folder / name).iterdir()}
    assert made >= {"hospital.csv", "recipe.toml", "release.csv", "report.html"}, made
    return json.loads(to.read_text("utf-8")), (here.folder / name / "release.csv").read_bytes()


def does_the_whole_job(here: Environment, version: str) -> str:
    """The demonstration with the kernels of the wheel, where it has some; without a C compiler."""
    counts, _ = demonstrated(here, "shipped")
    ready = here.ask("sum(1 for _ in (pathlib.Path(shoal.__file__).parent / 'kernels').glob('ready/*/*'))")
    if ready == "0":
        return f"compiled {counts['compiled']} kernels, {counts['seconds']:.1f} s of processor"
    assert (counts["compiled"], counts["here"], counts["kept"]) == (0, 0, 0), counts
    assert not (here.folder / "shipped-cache").exists()
    return f"no kernel compiled, {counts['ready']} ready, {counts['seconds']:.1f} s of processor"


def does_it_without_kernels_too(here: Environment, version: str) -> str:
    """With the kernels of the wheel removed it compiles its own, and the release is the same."""
    _, before = demonstrated(here, "before")
    ready = Path(here.ask("pathlib.Path(shoal.__file__).parent")) / "kernels" / "ready"
    shutil.rmtree(ready, ignore_errors=True)
    counts, after = demonstrated(here, "compiled")
    assert counts["compiled"] > 0 == counts["ready"], counts
    assert after == before
    return f"compiled {counts['compiled']} kernels, {counts['seconds']:.1f} s of processor, the same release"


Question = Callable[[Environment, str], str | None]
QUICK: tuple[Question, ...] = (
    answers_by_both_names,
    stands_alone,
    brings_its_data,
    completes_in_a_shell,
    verifies,
)


def install(python: str, wheel: Path, folder: Path) -> Environment:
    """An empty environment with the wheel and what it depends on, from binary packages alone."""
    env, stand = folder / "env", folder / "clean"
    stand.mkdir()
    subprocess.run([python, "-m", "venv", str(env)], check=True)
    without = {**os.environ, "PATH": str(env / "bin"), "PYTHONPATH": ""}
    subprocess.run(
        [str(env / "bin" / "python"), "-m", "pip", "install", *BINARIES_ONLY, str(wheel)],
        env=without,
        check=True,
    )
    return Environment(env / "bin", stand)


def try_container_recipe(python: str, wheel: Path, folder: Path) -> str:
    """Do what the Dockerfile says in an environment, where there is no container engine; then use it.

    All but making the user, which only the administrator can.
    """
    stand, image = folder / "data", folder / "image"
    for path in (stand, image):
        path.mkdir()
    subprocess.run([python, "-m", "venv", str(folder / "container")], check=True)
    shutil.copy(wheel, image)
    recipe = (Path(__file__).parents[2] / "Dockerfile").read_text("utf-8").replace("\\\n", "")
    (said,) = re.findall(r"^RUN (.*)$", recipe, re.MULTILINE)
    steps = [step.strip() for step in said.split("&&") if "useradd" not in step]
    line = " && ".join(steps).replace("/tmp/", f"{image}/").replace("/opt/shoal", f"{image}/cache")
    here = Environment(folder / "container" / "bin", stand)
    settings = {"SHOAL_CACHE": f"{image}/cache", "PATH": f"{here.bin}:{os.defpath}"}
    subprocess.run(["sh", "-ec", line], env={**os.environ, **settings}, check=True, stdout=subprocess.DEVNULL)
    here.run("shoal", "sample", "hospital", "-o", "people.csv", "--rows", "200", **settings)
    goal = ("-q", "age,sex", "-k", "5", "--others", "drop", "-o", "release.csv")
    here.run("shoal", "anonymize", "people.csv", *goal, **settings)
    here.run("shoal", "studio", "--help", **settings)
    assert "nicegui" in here.run("python", "-m", "pip", "list", **settings)
    return f"{len(steps)} steps"


def main(wheel: Path, pythons: list[str]) -> None:
    version = wheel.name.split("-")[1]
    for python in pythons:
        with tempfile.TemporaryDirectory() as name:
            here = install(python, wheel.resolve(), Path(name))
            print(here.run("python", "--version").strip(), flush=True)
            for question in (*QUICK, does_the_whole_job, does_it_without_kernels_too):
                found = question(here, version)
                said = question.__name__.replace("_", " ")
                print(f"  it {said}: {found}" if found else f"  it {said}", flush=True)
            print(f"  the Dockerfile works: {try_container_recipe(python, wheel.resolve(), Path(name))}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or [sys.executable])
