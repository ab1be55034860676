"""What all tests share."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from shoal.kernels.store import cache_folder

# One cache of kernels for all processes that tests start, whatever home they are given.
os.environ["SHOAL_CACHE"] = str(cache_folder().resolve())

# How long one example takes says more about the machine than about Shoal.
settings.register_profile("shoal", deadline=None)
settings.load_profile("shoal")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several processes, what shares a cluster, a browser, kernels or a parsed source is run by one."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            for folder in ("tests/engines/spark/", "tests/processors/"):
                if nodeid.startswith(folder):
                    return folder
            is_file_shared = nodeid.startswith(("tests/browser/", "tests/test_"))
            return nodeid.partition("::")[0] if is_file_shared else nodeid

    return Together(config, log)


NEEDS_TABLES = "needs the reference tables"
# Marks that follow from where a test is or from what it asks for; others stand beside tests.
SPARK = ("tests/engines/spark/", "tests/cli/test_spark.py")
# Random cases, hostile tables and published figures: what they find is seldom what a change was about.
SLOW = ("tests/properties/", "tests/robustness/", "tests/reference/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """So that a part of the tests can be chosen: ``pytest -m 'not slow and not spark and not browser'``."""
    for item in items:
        if item.nodeid.startswith(SPARK):
            item.add_marker("spark")
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker("browser")
        if item.nodeid.startswith(SLOW) or item.get_closest_marker("hypothesis"):
            item.add_marker("slow")
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One line for all tests that found no reference tables."""
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    if count := sum(NEEDS_TABLES in why for why in skipped):
        terminalreporter.write_line(
            f"{count} tests were skipped for want of the reference tables (Adult, INFORMS and others): "
            "put them into ../shared/data, see CONTRIBUTING.md"
        )


@pytest.fixture(scope="session", autouse=True)
def kernels_are_called_as_they_say() -> Iterator[None]:
    """A call with other types than the annotations say would be compiled for every user."""
    yield
    from shoal.kernels.compiled import KERNELS
    from shoal.kernels.signatures import list_signatures

    own = [kernel for kernel in KERNELS.values() if kernel.__module__.startswith("shoal.")]
    other = {k.__name__: each for k in own for each in k.signatures if each not in set(list_signatures(k))}
    assert other == {}


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of reference tables beside the checkout; tests that need it are skipped without it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(NEEDS_TABLES)
    return folder


# A real browser without a window, to look at pages as a reader would.
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)


class Browser:
    """Chromium, and what it says and asks for."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path, scheme: str = "light", media: str = "screen", width: int = 1000) -> None:
        """Show a page, and forget what was said about the one before."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.tell("Emulation.setEmulatedMedia", media=media, features=[feature])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.tell("Emulation.setDeviceMetricsOverride", **size)
        self.driver.get("about:blank")
        self.log("browser")
        self.log("performance")
        self.driver.get(path.as_uri())

    def tell(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        return self.driver.execute_script(f"return {script}")

    def log(self, kind: str) -> list[str]:
        """What was said since the last time: on the console, or by the machinery."""
        return [entry["message"] for entry in self.driver.get_log(kind)]


def chromium(profile: Path) -> Any:
    """Start it; None where it is not installed."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driver = chromium(tmp_path_factory.mktemp("profile"))
    if driver is None:
        pytest.skip("NO CHROMIUM: pages are not looked at; tests/browser/install installs it")
    try:
        yield Browser(driver)
    finally:
        driver.quit()
