"""A real browser without a window, to look at pages as a reader would."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
)


class Browser:
    """Chromium, and what it says and asks for."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def open(self, path: Path, scheme: str = "light", media: str = "screen", width: int = 1000) -> None:
        """Show a page, and forget what was said about the one before."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.tell("Emulation.setEmulatedMedia", media=media, features=[feature])
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.tell("Emulation.setDeviceMetricsOverride", **size)
        self._driver.get("about:blank")
        self.log("browser")
        self.log("performance")
        self._driver.get(path.as_uri())

    def tell(self, command: str, **parameters: Any) -> Any:
        return self._driver.execute_cdp_cmd(command, parameters)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        return self._driver.execute_script(f"return {script}")

    def log(self, kind: str) -> list[str]:
        """What was said since the last time: on the console, or by the machinery."""
        return [entry["message"] for entry in self._driver.get_log(kind)]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("NO CHROMIUM: pages are not looked at; tests/browser/install installs it")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()
