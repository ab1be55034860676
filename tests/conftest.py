"""What tests of every room share."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# How long one example takes says more about the machine than about Shoal.
settings.register_profile("shoal", deadline=None)
settings.load_profile("shoal")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several processes, what shares a cluster or a browser is run by one of them, and begun first."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith("tests/spark/"):
                return "spark"
            return (
                nodeid.partition("::")[0]
                if nodeid.startswith(("tests/browser/", "tests/studio/"))
                else nodeid
            )

    return Together(config, log)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of reference tables beside the checkout; tests that need it are skipped without it."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the reference tables are not here")
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
