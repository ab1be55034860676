"""A studio in a process of its own, and a hand that uses it in a real browser."""

import base64
import http.client
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WAIT = float(os.environ.get("SHOAL_STUDIO_WAIT", "240"))  # seconds; kernels may have to be compiled


LOOKS = Path(__file__).with_name("looks.js").read_text()


class Server:
    """`shoal studio`, and the address that it printed."""

    def __init__(self, *arguments: str, folder: Path, browser: bool = False) -> None:
        command = [sys.executable, "-m", "shoal", "studio", *arguments, "--port", "0"]
        command += [] if browser else ["--no-browser"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "TMPDIR": str(folder), "SHOAL_PROJECTS": str(folder / "projects")},
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)(/([\w-]{32})/)", line)
        if found is None:
            self.process.kill()
            raise AssertionError(f"no address: {line}{self.process.communicate()[1]}")
        self.url, self.port, self.base, self.key = found[0], int(found[1]), found[2], found[3]
        (self.folder,) = folder.glob("shoal-studio-*")

    def ask(
        self, path: str, method: str = "GET", body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], str]:
        """The answer to a request, by its path from the root: status, headers and text."""
        sent = {"Host": f"127.0.0.1:{self.port}", "Content-Length": str(len(body)), **headers}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as link:
            link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                link.putheader(name, value)
            link.endheaders(body)
            answer = link.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8", "replace")

    def shake(self, base: str, **headers: str) -> int:
        """The status that answers a WebSocket handshake below a path; 101 where it is accepted."""
        sent = {
            "Host": f"127.0.0.1:{self.port}",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            "Sec-WebSocket-Version": "13",
            **headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        path = f"{base}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        with socket.create_connection(("127.0.0.1", self.port), timeout=120) as link:
            link.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
            return int(link.recv(4096).split(b" ")[1])

    def stop(self) -> tuple[int, str]:
        """End it as Ctrl-C would; the exit code, and what it said on standard error."""
        self.process.send_signal(2)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


class Hand:
    """Uses a studio as a person would: sees texts, presses buttons, chooses files."""

    def __init__(self, driver: Any, server: Server, downloads: Path) -> None:
        self.driver, self.server, self.downloads = driver, server, downloads

    def open(self, step: str = "", scheme: str = "light", width: int = 1280) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.tell("Emulation.setEmulatedMedia", media="screen", features=[feature])
        self.size(width, 900)
        self.tell("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        self.driver.get(f"{self.server.url}{step}")

    def tell(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    def size(self, width: int, height: int) -> None:
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def text(self) -> str:
        return str(self.driver.find_element(By.TAG_NAME, "body").text)

    def until(self, what: Callable[[], Any], told: str) -> Any:
        """Wait for something; elements that were just drawn anew are looked for again."""
        end = time.monotonic() + WAIT
        while time.monotonic() < end:
            try:
                if found := what():
                    return found
            except (StaleElementReferenceException, WebDriverException, AttributeError):
                pass
            time.sleep(0.2)
        raise AssertionError(f"{told} did not come; there is:\n{self.text()}")

    def sees(self, words: str) -> None:
        self.until(lambda: words in self.text(), repr(words))

    def press(self, words: str, then: str = "") -> None:
        """Press the button or link with these words, once it can be pressed; until others are shown."""

        def pressed() -> bool:
            path = f"//button[contains(., '{words}')] | //a[contains(., '{words}')]"
            for each in self.driver.find_elements(By.XPATH, path):
                if each.is_displayed() and each.is_enabled() and not each.get_attribute("aria-disabled"):
                    each.click()
                    return True
            return False

        if then:
            self.until(lambda: self._shows_after(pressed, then), f"{then!r} after a button {words!r}")
        else:
            self.until(pressed, f"a button {words!r}")

    def press_until(self, selector: str, words: str) -> None:
        """Press a button by its selector until words are shown."""
        button = self.driver.find_element
        self.until(lambda: self._shows_after(button(By.CSS_SELECTOR, selector).click, words), repr(words))

    def _shows_after(self, press: Callable[[], object], words: str) -> bool:
        """Whether words are shown, if need be after a press, which is lost while a page draws itself anew."""
        end = time.monotonic() + 10
        if words not in self.text():
            press()
            while words not in self.text() and time.monotonic() < end:
                time.sleep(0.2)
        return words in self.text()

    def start_run(self) -> None:
        """Press the button until the run is shown: a press is lost while a page draws itself anew."""

        def shown() -> int:
            return len(self.driver.find_elements(By.CSS_SELECTOR, "[data-run]"))

        def begun() -> bool:
            self.press("Start a run")
            end = time.monotonic() + 10
            while shown() == before and time.monotonic() < end:
                time.sleep(0.1)
            return shown() > before

        self.until(lambda: "Start a run" in self.text(), "the step for runs")
        before = shown()
        self.until(begun, "a run")

    def give(self, file: Path) -> None:
        """Choose a file to upload."""
        self.until(
            lambda: not self.driver.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(file)),
            "a place for a file",
        )

    def pressed(self, words: str) -> bool:
        """Whether a button that stays down is down."""
        path = f"//button[contains(., '{words}')][@aria-pressed='true']"
        return bool(self.driver.find_elements(By.XPATH, path))

    def unfold(self, words: str) -> None:
        path = f"//div[contains(@class, 'q-expansion-item')]//div[@role='button'][contains(., '{words}')]"
        self.until(lambda: not self.driver.find_element(By.XPATH, path).click(), words)

    def type(self, label: str, text: str) -> None:
        """Put a text into an input, by its label, in place of what is there."""

        def typed() -> bool:
            field = self.field(label)
            field.send_keys(Keys.CONTROL, "a")
            field.send_keys(text)
            # The page waits a little for more keys; where it drew itself anew meanwhile, the text is gone.
            time.sleep(0.6)
            return bool(self.field(label).get_attribute("value") == text)

        self.until(typed, f"an input {label!r}")

    def field(self, label: str) -> Any:
        """An input by its label."""
        label = label.replace('"', '\\"')
        script = f"""const all = [...document.querySelectorAll("label")];
            const named = all.find(each => each.textContent === "{label}");
            return named?.control || document.querySelector(`input[aria-label="{label}"]`)"""
        return self.driver.execute_script(script)

    def choose(self, label: str, option: str, then: str = "") -> None:
        """Choose from a list by its label until the choice, or other words, are shown.

        A choice is lost while a page draws itself anew.
        """

        def is_shown() -> bool:
            return then in self.text() if then else self._shows_choice(label, option)

        def chosen() -> bool:
            if is_shown():
                return True
            self._pick_option(label, option)
            end = time.monotonic() + 10
            while not is_shown() and time.monotonic() < end:
                time.sleep(0.2)
            return is_shown()

        self.until(chosen, f"{option} of {label}")
        self.until(self._has_closed_list, "the list to close")

    def _pick_option(self, label: str, option: str) -> None:
        """Open a list, unless it is open, and press an option; a list without it is another, and closed."""
        if not self.driver.find_elements(By.CSS_SELECTOR, ".q-menu [role=option]"):
            self.field(label).send_keys(Keys.ENTER)
        for each in self.driver.find_elements(By.CSS_SELECTOR, ".q-menu [role=option]"):
            # Not `text`, which is empty while the list unfolds.
            if each.get_attribute("textContent") == option:
                each.click()
                return
        self._has_closed_list()

    def _shows_choice(self, label: str, option: str) -> bool:
        """Whether a list that is closed shows this option as its choice."""
        field = self.field(label).find_element(By.XPATH, "./ancestor::*[contains(@class, 'q-field')][last()]")
        return option in field.text

    def _has_closed_list(self) -> bool:
        """Whether no list is open; a page that drew itself anew can leave one, which a person would close."""
        if not self.driver.find_elements(By.CSS_SELECTOR, ".q-menu"):
            return True
        self.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        return False

    def download(self, name: str) -> Path:
        """Press the link of a file, and wait until it has come."""
        target = self.downloads / name
        target.unlink(missing_ok=True)
        link = f"a[download='{name}']"
        self.until(lambda: not self.driver.find_element(By.CSS_SELECTOR, link).click(), name)
        self.until(target.exists, f"the file {name}")
        return target

    def faint(self) -> list[str]:
        """Texts that stand out from what is behind them by less than WCAG AA asks."""
        return list(self.driver.execute_script(f"{LOOKS} return faint()"))

    def unnamed(self) -> list[str]:
        """Things to press or fill in that have no name for those who do not see them."""
        return list(self.driver.execute_script(f"{LOOKS} return unnamed()"))

    def complaints(self) -> list[str]:
        """What the browser found wrong; the page of a studio that is gone may still look for it."""
        ours = f"127.0.0.1:{self.server.port}/"
        told = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        return [message for message in told if ours in message]


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A studio for the tests of a file, with its ``OPTIONS`` and the table ``PEOPLE``, if it has them."""
    folder, table = tmp_path_factory.mktemp("studio"), getattr(request.module, "PEOPLE", None)
    options = getattr(request.module, "OPTIONS", ())
    if table is not None:
        (folder / "people.csv").write_text(table, "utf-8")
    made = Server(*(["people.csv"] if table is not None else []), *options, folder=folder)
    yield made
    if made.process.poll() is None:
        made.stop()


@pytest.fixture
def hand(browser: Any, server: Server, tmp_path: Path) -> Hand:
    return Hand(browser.driver, server, tmp_path)
