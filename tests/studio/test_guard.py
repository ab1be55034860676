"""Who may talk to the studio: foreign hosts, foreign pages and those without the token are refused."""

import base64
import http.client
import os
import socket
from contextlib import closing

import pytest


def ask(server, path="/open", method="GET", body=b"", **headers):
    sent = {"Host": f"127.0.0.1:{server.port}", "Content-Length": str(len(body)), **headers}
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)) as link:
        link.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in sent.items():
            link.putheader(name, value)
        link.endheaders(body)
        answer = link.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8", "replace")


def cookie(server) -> str:
    return f"shoal-studio-{server.port}={server.token}"


def handshake(server, **headers) -> int:
    """The status that answers a WebSocket handshake; 101 where it is accepted."""
    key = base64.b64encode(os.urandom(16)).decode()
    sent = {
        "Host": f"127.0.0.1:{server.port}",
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as link:
        link.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        return int(link.recv(4096).split(b" ")[1])


def test_the_token_in_the_address_becomes_a_cookie_that_no_script_can_read(server):
    status, headers, _ = ask(server, f"/describe?token={server.token}&a=1")
    assert (status, headers["location"]) == (303, "/describe?a=1")
    assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in headers["set-cookie"].split(";")}
    status, headers, text = ask(server, Cookie=cookie(server))
    assert status == 200
    assert "Shoal Studio" in text
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize("given", [{}, {"Cookie": "shoal-studio-1=x"}, {"Cookie": "x"}])
def test_without_the_token_nothing_is_shown(server, given):
    for path in (
        "/open",
        "/rows/table",
        "/download/1/recipe.toml",
        "/_nicegui_ws/socket.io/?EIO=4&transport=polling",
    ):
        status, _, text = ask(server, path, **given)
        assert status == 403
        assert "open the address" in text
    assert ask(server, "/?token=wrong", **given)[0] == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}"]
)
def test_a_foreign_host_is_refused(server, host):
    given = {"Host": host.format(port=server.port), "Cookie": cookie(server)}
    assert ask(server, **given)[0] == 403
    assert ask(server, f"/?token={server.token}", Host=given["Host"])[0] == 403
    assert handshake(server, **given) == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_a_foreign_origin_is_refused(server, origin):
    given = {"Origin": origin.format(port=server.port), "Cookie": cookie(server)}
    assert ask(server, **given)[0] == 403
    assert ask(server, "/_nicegui_ws/socket.io/?EIO=4&transport=polling", "POST", b"40", **given)[0] == 403
    assert handshake(server, **given) == 403


def test_a_web_socket_is_opened_by_its_own_pages_only(server):
    own = f"http://127.0.0.1:{server.port}"
    assert handshake(server, Origin=own, Cookie=cookie(server)) == 101
    assert handshake(server, Origin=own) == 403
    assert handshake(server, Origin=own, Cookie=f"shoal-studio-{server.port}=wrong") == 403


def test_other_addresses_of_the_machine_do_not_answer(server):
    with socket.socket() as link:
        link.settimeout(5)
        assert link.connect_ex(("127.0.0.2", server.port)) != 0


def test_files_are_reached_by_no_other_name(server):
    for name in ("..%2f..%2fetc%2fpasswd", "result.json", "../../uploads"):
        assert ask(server, f"/download/1/{name}", Cookie=cookie(server))[0] == 404
    rows = ask(server, "/rows/..%2f..", Cookie=cookie(server))
    assert rows[0] in (200, 404)
    assert "root" not in rows[2]


def test_more_than_the_limit_is_not_taken(server):
    huge = {"Content-Length": "2000000001", "Cookie": cookie(server)}
    assert ask(server, "/open", "POST", **huge)[0] == 413
