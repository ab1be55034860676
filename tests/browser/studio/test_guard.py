"""Who may talk to the studio: foreign hosts, foreign pages and those without the key are refused."""

import re
import socket

import nicegui
import pytest

from shoal.studio.state import STEPS

OUTSIDE = (
    "/",
    "/open",
    "/rows/table",
    "/studio-logo.svg",
    "/favicon.ico",
    "/download/1/recipe.toml",
    "/_nicegui_ws/socket.io/?EIO=4&transport=polling",
)


def test_the_key_in_the_path_opens_the_studio_and_no_cookie_is_set(server):
    status, headers, text = server.ask(f"{server.base}open")
    assert (status, "Shoal Studio" in text) == (200, True)
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert (headers["referrer-policy"], headers["cache-control"]) == ("no-referrer", "no-store")
    assert "set-cookie" not in headers
    for path in (server.base, server.base.rstrip("/")):
        status, headers, _ = server.ask(path)
        assert (status, headers["location"]) == (307, f"{server.base}open")


@pytest.mark.parametrize("step", STEPS)
def test_only_addresses_of_nicegui_hold_the_key_and_others_are_relative(server, step):
    _, _, text = server.ask(f"{server.base}{step}")
    places = re.findall(rf"{re.escape(server.base)}([\w-]*)", text)
    assert set(places) == {"_nicegui", "favicon"}
    assert '"href":"describe"' in text
    assert re.findall(r'"(?:href|src|source)":"/[^"]*"', text) == []


@pytest.mark.parametrize("path", OUTSIDE)
def test_without_the_key_nothing_is_answered(server, path):
    script = f"/_nicegui/{nicegui.__version__}/static/nicegui.js"
    for before in ("", "/wrong", f"/{server.key[:-1]}", f"/{server.key}x", f"/{server.key.swapcase()}"):
        for asked in (before + path, before + script, f"//{server.key}{path}", f"{path}?key={server.key}"):
            status, headers, text = server.ask(asked)
            assert (asked, status) == (asked, 403)
            assert "open the address" in text
            assert headers["referrer-policy"] == "no-referrer"
            assert not headers.keys() & {"location", "set-cookie"}


@pytest.mark.parametrize(
    "name", ["Cookie", "Authorization", "Referer", "X-Forwarded-Prefix", "X-Original-URL"]
)
def test_the_key_anywhere_else_opens_nothing(server, name):
    for value in (server.key, server.base, server.url, f"shoal-studio-{server.port}={server.key}"):
        assert server.ask("/open", **{name: value})[0] == 403
        assert server.shake("", **{name: value}) == 403


def test_a_prefix_that_a_request_brings_is_not_believed(server):
    status, _, text = server.ask(f"{server.base}open", **{"X-Forwarded-Prefix": "/evil"})
    assert (status, "/evil" in text) == (200, False)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", "x.localhost:{port}"],
)
def test_a_foreign_host_is_refused(server, host):
    given = {"Host": host.format(port=server.port)}
    assert server.ask(f"{server.base}open", **given)[0] == 403
    assert server.shake(f"/{server.key}", **given) == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_a_foreign_origin_is_refused(server, origin):
    given = {"Origin": origin.format(port=server.port)}
    assert server.ask(f"{server.base}open", **given)[0] == 403
    polling = f"{server.base}_nicegui_ws/socket.io/?EIO=4&transport=polling"
    assert server.ask(polling, "POST", b"40", **given)[0] == 403
    assert server.shake(f"/{server.key}", **given) == 403


def test_a_web_socket_is_opened_by_its_own_pages_only(server):
    own = f"http://127.0.0.1:{server.port}"
    assert server.shake(f"/{server.key}", Origin=own) == 101
    assert server.shake("", Origin=own) == 403
    assert server.shake("/wrong", Origin=own) == 403


def test_other_addresses_of_the_machine_do_not_answer(server):
    with socket.socket() as link:
        link.settimeout(5)
        assert link.connect_ex(("127.0.0.2", server.port)) != 0


def test_files_are_reached_by_no_other_name(server):
    for name in ("..%2f..%2fetc%2fpasswd", "result.json", "../../uploads"):
        assert server.ask(f"{server.base}download/1/{name}")[0] == 404
    rows = server.ask(f"{server.base}rows/..%2f..")
    assert rows[0] in (200, 404)
    assert "root" not in rows[2]


def test_more_than_the_limit_is_not_taken(server):
    huge = {"Content-Length": "2100000000"}
    status, _, text = server.ask(f"{server.base}open", "POST", **huge)
    assert status == 413
    assert "more than the 2,000,000,000 bytes that can still be uploaded" in text
