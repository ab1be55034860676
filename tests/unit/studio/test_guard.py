"""The guard by itself: tickets that end, and room for uploads."""

import asyncio
from typing import Any

import pytest

from shoal.studio import guard
from shoal.studio.guard import Guard


async def inside(scope: Any, receive: Any, send: Any) -> None:
    """An application that says which path it was asked for."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


def status(guarded: Guard, path: str) -> int:
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "headers": [(b"host", b"127.0.0.1:1")]}
    asyncio.run(guarded(scope, None, send))
    return int(sent[0]["status"])


def test_a_ticket_works_once():
    guarded = Guard(inside, 1, lambda: 100)
    ticket = guarded.make_ticket()
    assert [status(guarded, path) for path in ("/", "//", ticket, ticket)] == [403, 403, 303, 403]
    assert status(guarded, f"/{guarded.key}/x") == 200


def test_a_ticket_that_nobody_used_ends(monkeypatch):
    guarded = Guard(inside, 1, lambda: 100)
    ticket, later = guarded.make_ticket(), guard.monotonic() + 1000
    monkeypatch.setattr(guard, "monotonic", lambda: later)
    assert status(guarded, ticket) == 403


def test_without_a_ticket_the_empty_path_is_none():
    assert [status(Guard(inside, 1, lambda: 100), path) for path in ("/", "//", "///x")] == [403] * 3


class Upload:
    """Requests that bring something, to an application that reads all of it."""

    def __init__(self, room: int) -> None:
        self.guard = Guard(self.read, 1, lambda: room)
        self.taken = 0

    async def read(self, scope: Any, receive: Any, send: Any) -> None:
        more = True
        while more:
            message = await receive()
            self.taken += len(message["body"])
            more = message["more_body"]
        await inside(scope, receive, send)

    async def send(self, parts: list[bytes], declared: int | None) -> int:
        sent: list[dict[str, Any]] = []
        coming = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        coming.append({"type": "http.request", "body": b"", "more_body": False})

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            return coming.pop(0)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        length = [] if declared is None else [(b"content-length", str(declared).encode())]
        headers = [(b"host", b"127.0.0.1:1"), *length]
        await self.guard({"type": "http", "path": f"/{self.guard.key}/", "headers": headers}, receive, send)
        return int(sent[0]["status"])


MEGABYTE = b"x" * 1_000_000


@pytest.mark.parametrize("declared", [None, 0, 5_000_000])
def test_no_more_is_passed_on_than_there_is_room_for(declared):
    upload = Upload(3_000_000)
    assert asyncio.run(upload.send([MEGABYTE] * 5, declared)) == 413
    assert upload.taken <= 4_000_000
    assert asyncio.run(upload.send([MEGABYTE] * 3, 3_000_000)) == 200  # it has forgotten the one before


def test_uploads_at_the_same_time_share_the_room():
    upload = Upload(3_000_000)

    async def both() -> list[int]:
        return await asyncio.gather(*(upload.send([MEGABYTE] * 3, 3_000_000) for _ in range(2)))

    assert sorted(asyncio.run(both())) == [200, 413]


def test_a_page_still_works_where_no_room_is_left():
    assert asyncio.run(Upload(0).send([b"40"], 2)) == 200
