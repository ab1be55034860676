"""Who may talk to the studio: one user of this machine, with the address that was printed at the start.

The studio listens on loopback only. That alone keeps out neither other users of the machine nor pages of
other sites in the user's own browser, so every request, and the handshake of every WebSocket, must

- name this machine in its Host header (a foreign site that points its name at 127.0.0.1 does not),
- come from a page of the studio, if it says where it comes from (Origin), and
- know the token: in the address at first, from then on in a cookie that no script can read.
"""

from __future__ import annotations

import secrets
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = dict[str, Any]
Headers = dict[bytes, bytes]

_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_ALWAYS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


class _TooLargeError(Exception):
    pass


class Guard:
    """Stands in front of an ASGI application and lets through what may pass."""

    def __init__(self, app: Any, port: int, token: str, limit: int) -> None:
        self.app = app
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._cookie = f"shoal-studio-{port}"
        self._token = token
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers: Headers = dict(scope["headers"])
        several = sum(name in (b"host", b"origin") for name, _ in scope["headers"]) > len(
            {b"host", b"origin"} & headers.keys()
        )
        reason = "a header is there twice" if several else self._foreign(headers)
        if reason:
            await _refuse(scope, send, 403, reason)
        elif scope["type"] == "http" and self._brings_token(scope):
            await self._welcome(scope, send)
        elif not self._knows_token(headers):
            await _refuse(scope, send, 403, _CLOSED)
        elif int(headers.get(b"content-length", b"0") or 0) > self._limit:
            await _refuse(scope, send, 413, f"more than the {self._limit:,} bytes that may be uploaded")
        else:
            await self._pass(scope, receive, send)

    def _foreign(self, headers: Headers) -> str:
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

    def _brings_token(self, scope: Scope) -> bool:
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", "")
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _knows_token(self, headers: Headers) -> bool:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
        given = cookies[self._cookie].value if self._cookie in cookies else ""
        return secrets.compare_digest(given.encode(), self._token.encode())

    async def _welcome(self, scope: Scope, send: Any) -> None:
        """Put the token into a cookie, and take it out of the address."""
        rest = [(k, v) for k, v in parse_qsl(scope["query_string"].decode("latin-1")) if k != "token"]
        target = scope["path"] + (f"?{urlencode(rest)}" if rest else "")
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
        headers = [
            (b"location", target.encode()),
            (b"set-cookie", cookie.encode()),
            (b"content-length", b"0"),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": [*headers, *_ALWAYS]})
        await send({"type": "http.response.body", "body": b""})

    async def _pass(self, scope: Scope, receive: Any, send: Any) -> None:
        came, begun = 0, False

        async def counted() -> Any:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self._limit:
                raise _TooLargeError
            return message

        async def headed(message: Any) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": [*message["headers"], *_ALWAYS]}
            await send(message)

        try:
            await self.app(scope, counted if scope["type"] == "http" else receive, headed)
        except _TooLargeError:
            if not begun:
                await _refuse(scope, send, 413, f"more than the {self._limit:,} bytes that may be uploaded")


_CLOSED = "open the address that 'shoal studio' printed: it has the key to this page in it"


async def _refuse(scope: Scope, send: Any, status: int, reason: str) -> None:
    if scope["type"] == "websocket":  # closed before it was accepted: the handshake is answered with 403
        await send({"type": "websocket.close", "code": 1008, "reason": reason})
        return
    body = f"Shoal Studio: {reason}.\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *_ALWAYS]})
    await send({"type": "http.response.body", "body": body})
