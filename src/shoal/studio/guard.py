"""Who may talk to the studio: one user of this machine, with the address that was printed at the start.

The studio listens on loopback only. That alone keeps out neither other users of the machine nor pages of
other sites in the user's own browser, so every request, and the handshake of every WebSocket, must

- name this machine in its Host header (a foreign site that points its name at 127.0.0.1 does not),
- come from a page of the studio, if it says where it comes from (Origin), and
- have the key as the first part of its path.

There is no cookie: a browser sends cookies to every port of a host, and so to other programs on this machine.
Behind the guard paths have no key. Pages link to each other by relative addresses, and NiceGUI puts the key
before its own as it would the prefix of a proxy. See docs/decisions/studio-secret.md.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from time import monotonic
from typing import Any
from urllib.parse import quote

Scope = dict[str, Any]
Headers = dict[bytes, bytes]

# NiceGUI starts its pages by inline scripts, and Vue compiles templates in the browser: hence the
# two unsafe sources. No other origin is permitted.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_ALWAYS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),  # or links to elsewhere would carry the key there
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_TICKET_SECONDS = 120.0  # enough for a browser to start
_AROUND = 1_000_000  # bytes for what goes around a file, and for requests that bring none
_CLOSED = "open the address that 'shoal studio' printed: it has the key to this page in it"


class _TooLargeError(Exception):
    pass


class Guard:
    """Wraps an ASGI application and passes on only the requests that are allowed."""

    def __init__(self, app: Any, port: int, free_bytes: Callable[[], int]) -> None:
        """Begin.

        Parameters
        ----------
        free_bytes : function
            How many bytes may be sent to the application, as of now.
        """
        self.app = app
        self.key = secrets.token_urlsafe(24)
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}
        self._free_bytes, self._coming = free_bytes, 0
        self._ticket, self._ticket_ends = "", 0.0

    def make_ticket(self) -> str:
        """A path that opens the studio once: others may see what a browser is started with."""
        self._ticket, self._ticket_ends = secrets.token_urlsafe(24), monotonic() + _TICKET_SECONDS
        return f"/{self._ticket}/"

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):  # start and end of the server
            await self.app(scope, receive, send)
            return
        headers: Headers = dict(scope["headers"])
        key, _, rest = scope["path"].removeprefix("/").partition("/")
        # Before the key: a foreign page gets the same answer whether its key is right or wrong.
        reason = _check_repeated_headers(scope) or self._check_origin(headers)
        if reason:
            await _send_refusal(scope, send, 403, reason)
        elif _is_same(key, self.key):
            await self._admit_request(_behind_prefix(scope, f"/{key}", f"/{rest}"), receive, send)
        elif scope["type"] == "http" and self._takes_ticket(key):
            await _send_redirect(send, f"/{self.key}/")
        else:
            await _send_refusal(scope, send, 403, _CLOSED)

    def _check_origin(self, headers: Headers) -> str:
        """Why a request is not one of this machine's own pages; empty if it is."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        origin = headers.get(b"origin")
        if host not in self._hosts:
            return "the studio answers only to its own address on this machine"
        if origin is not None and origin.decode("latin-1").lower() not in {
            f"http://{h}" for h in self._hosts
        }:
            return "the studio answers only to its own pages"
        return ""

    def _takes_ticket(self, given: str) -> bool:
        """Whether somebody comes with the ticket; nobody can come with it again."""
        if not self._ticket or monotonic() > self._ticket_ends or not _is_same(given, self._ticket):
            return False
        self._ticket = ""
        return True

    async def _admit_request(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass on a request that has the key, unless it declares more bytes than are free."""
        length = int(dict(scope["headers"]).get(b"content-length", b"0") or 0)
        if length > self._count_free_bytes():
            await self._refuse_size(scope, send)
        elif scope["type"] == "websocket":
            await self.app(scope, receive, _add_headers(send))
        else:
            await self._pass_counted(scope, receive, send)

    async def _pass_counted(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass on a request, but no more bytes than are free, whatever length it declared."""
        came, is_too_large, has_begun = 0, False, False

        async def receive_counted() -> Any:
            nonlocal came, is_too_large
            message = await receive()
            size = len(message.get("body", b""))
            came, self._coming = came + size, self._coming + size
            if size and self._count_free_bytes() < 0:
                is_too_large = True
                # Out of `receive`, so that the application stops reading. It may turn this into
                # an error of its own, so below the flag decides and not the type.
                raise _TooLargeError
            return message

        async def send_unless_too_large(message: Any) -> None:
            nonlocal has_begun
            if has_begun or not is_too_large:  # else the answer is a page about an error of the server
                has_begun = True
                await _add_headers(send)(message)

        try:
            await self.app(scope, receive_counted, send_unless_too_large)
        except Exception:
            if not is_too_large:
                raise
        finally:
            self._coming -= came  # what was kept of it counts in `Uploads` now
        if is_too_large and not has_begun:
            await self._refuse_size(scope, send)

    async def _refuse_size(self, scope: Scope, send: Any) -> None:
        words = f"this is more than the {self._free_bytes():,} bytes that can still be uploaded"
        await _send_refusal(scope, send, 413, words)

    def _count_free_bytes(self) -> int:
        """Bytes that a request may bring, besides those that are under way."""
        return self._free_bytes() + _AROUND - self._coming


def _add_headers(send: Any) -> Any:
    """Send an answer with the headers that every answer has."""

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_ALWAYS]}
        await send(message)

    return send_with_headers


def _is_same(given: str, secret: str) -> bool:
    """Whether somebody knows a secret; how long the answer takes does not tell how much of it they know."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _check_repeated_headers(scope: Scope) -> str:
    """Why the headers that are looked at are not clear; empty if they are."""
    names = [name for name, _ in scope["headers"] if name in (b"host", b"origin")]
    return "a header is there twice" if len(names) > len(set(names)) else ""


def _behind_prefix(scope: Scope, prefix: str, path: str) -> Scope:
    """A request as a proxy would pass it on that answers for all below a prefix."""
    # NiceGUI believes these headers, so only the guard may set them.
    headers = [each for each in scope["headers"] if not each[0].startswith(b"x-forwarded-")]
    headers.append((b"x-forwarded-prefix", prefix.encode()))
    return {**scope, "path": path, "raw_path": quote(path).encode(), "headers": headers}


async def _send_redirect(send: Any, path: str) -> None:
    headers = [
        (b"location", path.encode()),
        (b"content-length", b"0"),
        (b"cache-control", b"no-store"),  # or a browser would remember where the ticket led
    ]
    await send({"type": "http.response.start", "status": 303, "headers": [*headers, *_ALWAYS]})
    await send({"type": "http.response.body", "body": b""})


async def _send_refusal(scope: Scope, send: Any, status: int, reason: str) -> None:
    if scope["type"] == "websocket":  # closed before it was accepted: the handshake is answered with 403
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
        return
    body = f"Shoal Studio: {reason}.\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *_ALWAYS]})
    await send({"type": "http.response.body", "body": body})
