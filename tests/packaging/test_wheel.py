"""What is published: whole, typed, usable outside the checkout, its version from one place."""

import importlib.util
import os
import re
import site
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import shoal

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "shoal"

pytest.importorskip("hatchling", reason="builds the packages")


def loaded():
    spec = importlib.util.spec_from_file_location("installed", Path(__file__).with_name("installed.py"))
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


installed = loaded()


def built(root: Path, target: str, folder: Path, **variables: str) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)],
        cwd=root,
        check=True,
        capture_output=True,
        env={name: value for name, value in os.environ.items() if name != "SHOAL_KERNELS"} | variables,
    )
    (package,) = folder.iterdir()
    return package


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """The wheel in an environment of its own; dependencies are those of this one."""
    folder = tmp_path_factory.mktemp("installed")
    env, stand = folder / "env", folder / "clean"
    stand.mkdir()
    venv.create(env, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(env)}))
    # A path named in a .pth file is searched, but what .pth files there say is not done: the checkout, which
    # may be installed there as editable, stays out of sight.
    paths = [path for path in {*site.getsitepackages(), sysconfig.get_path("purelib")} if Path(path).exists()]
    (packages / "borrowed.pth").write_text("\n".join(paths), "utf-8")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(env),
            "install",
            "-qq",
            "--no-deps",
            "--no-index",
            "--no-compile",
            str(wheel),
        ],
        check=True,
    )
    return installed.Environment(env / "bin", stand)


@pytest.mark.slow
@pytest.mark.parametrize("question", installed.QUICK, ids=lambda question: question.__name__)
def test_the_installed_wheel(environment, question):
    question(environment, shoal.__version__)


def files_of_the_source() -> dict[str, bytes]:
    every = (path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {f"shoal/{path.relative_to(SOURCE).as_posix()}": path.read_bytes() for path in every}


def test_the_wheel_has_all_of_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        found = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    assert found == files_of_the_source()
    assert {
        "shoal/py.typed",
        "shoal/table/hierarchies/ready/countries.tree",
        "shoal/report/page.css",
    } <= found.keys()


@pytest.mark.slow
def test_the_source_package_makes_the_same_wheel(wheel, tmp_path):
    package = built(ROOT, "sdist", tmp_path / "sdist")
    with tarfile.open(package) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (root,) = (tmp_path / "unpacked").iterdir()
    again = built(root, "wheel", tmp_path / "again")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert {each.filename: each.CRC for each in one.filelist} == {
            each.filename: each.CRC for each in other.filelist
        }


@pytest.mark.slow
def test_kernels_make_it_a_wheel_for_this_platform(wheel, tmp_path):
    folder = tmp_path / "some-build"
    folder.mkdir()
    (folder / "a.kernel").write_bytes(b"machine code")
    (folder / ".a.kernel.lock").write_bytes(b"")
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    carrying = built(ROOT, "wheel", tmp_path / "wheel", SHOAL_KERNELS=str(folder))
    assert carrying.name.startswith(f"shoal-{shoal.__version__}-{python}-{python}-")
    assert not carrying.name.endswith("-any.whl")
    assert wheel.name == f"shoal-{shoal.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(carrying) as one, zipfile.ZipFile(wheel) as other:
        more = set(one.namelist()) - set(other.namelist())
        assert more == {"shoal/kernels/ready/some-build/a.kernel"}
        about = one.read(f"shoal-{shoal.__version__}.dist-info/WHEEL").decode()
    assert "Root-Is-Purelib: false" in about
    source = built(ROOT, "sdist", tmp_path / "source", SHOAL_KERNELS=str(folder))
    with tarfile.open(source) as archive:
        assert [name for name in archive.getnames() if name.endswith(".kernel")] == []


def test_a_folder_without_kernels_is_refused(tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as caught:
        built(ROOT, "wheel", tmp_path / "wheel", SHOAL_KERNELS=str(tmp_path))
    assert b"run 'shoal cache warm' first" in caught.value.stderr


def metadata(wheel: Path) -> str:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(f"shoal-{shoal.__version__}.dist-info/METADATA").decode()


def test_the_version_stands_in_one_place(wheel):
    assert f"\nVersion: {shoal.__version__}\n" in metadata(wheel)
    places = (ROOT / "pyproject.toml", *SOURCE.rglob("*.py"))
    said = [path for path in places if f'"{shoal.__version__}"' in path.read_text("utf-8")]
    assert said == [SOURCE / "__init__.py"]


def test_the_versions_of_python_are_stated_alike(wheel):
    stated = re.findall(
        r"^Classifier: Programming Language :: Python :: (3\.\d+)$", metadata(wheel), re.MULTILINE
    )
    least = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    assert least == f">={stated[0]}"
    assert f"Python {', '.join(stated[:-1])} and {stated[-1]}" in (ROOT / "README.md").read_text("utf-8")


def test_the_page_shows_the_recipe_of_the_container_as_it_is():
    """``make wheel`` tries it step by step in an environment of its own: tests have no container engine."""
    recipe = (ROOT / "Dockerfile").read_text("utf-8")
    assert f'```dockerfile title="Dockerfile"\n{recipe}```' in (ROOT / "docs/howto/install.md").read_text(
        "utf-8"
    )
    assert "\nUSER 1000\n" in recipe
