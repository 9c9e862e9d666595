"""Attacks on the page: other sites, other ports, guessed tokens, large bodies. All are refused."""

from __future__ import annotations

import hashlib
import re
import socket
from contextlib import suppress
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

from copublish.cli import app
from copublish.errors import CopublishError
from copublish.studio.guard import HEADERS, LARGEST_BODY, TOKEN_SECONDS, WRONG_TOKENS, Entrance, cookie_name
from copublish.studio.pages import OWN_ADDRESS
from copublish.tools.drafting.demo import example_agreement
from support.studio import ORIGIN, PORT, Browser, desk_in, entered, served, stranger

STUDIO = Path(str(resources.files("copublish.studio")))
HTMX_2_0_11 = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""SHA-256 of dist/htmx.min.js in the package htmx.org 2.0.11 of the npm registry."""

ADDRESSES = re.compile(r"""[\w-]=["']?(/[^"'\s>]*)""")
"""Attributes of tags, whichever, that begin like a path."""

REFRESHED = re.compile(r'content="0; url=([^"]*)"')

PLACES = ("draft", "plan", "approve", "run", "read")


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))


def posts(app):
    return [route.path for route in app.routes if "POST" in route.methods]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "localhost",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1:{PORT}.evil",
        f"[::1]:{PORT}",
        "",
        f"LOCALHOST:{PORT}",
    ],
)
def test_a_foreign_host_is_refused_for_every_path_even_with_the_cookie(tmp_path, host):
    browser = entered(tmp_path)
    for path in ("/read", "/static/htmx.min.js", "/enter?token=x", "/nowhere"):
        assert browser.get(path, headers={"host": host}).status_code == 421


def test_both_names_of_this_machine_are_answered(tmp_path):
    browser = entered(tmp_path)
    assert browser.get("/read").status_code == 200
    cookie = browser.cookies[cookie_name(PORT)]
    there = browser.get(
        f"http://localhost:{PORT}{browser.root}/read", headers={"cookie": f"{cookie_name(PORT)}={cookie}"}
    )
    assert there.status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        f"http://127.0.0.1:{PORT + 1}",
        f"http://localhost:{PORT}",
        "https://127.0.0.1",
    ],
)
def test_a_form_of_another_site_or_port_does_nothing_although_the_browser_sends_the_cookie(tmp_path, origin):
    browser = entered(tmp_path)
    token = browser.form_token
    for path in posts(browser.app):
        headers = {} if origin is None else {"origin": origin}
        assert browser.post(path, data={"form_token": token}, headers=headers).status_code == 403, path


def test_every_form_needs_its_token_and_every_page_the_cookie(tmp_path):
    browser = entered(tmp_path)
    assert posts(browser.app)
    for path in posts(browser.app):
        for token in ("", "0" * 64, browser.cookies[cookie_name(PORT)]):
            answer = browser.post(path, data={"form_token": token}, headers={"origin": ORIGIN})
            assert answer.status_code == 403, path
    token = entered(tmp_path).form_token
    assert browser.post("/another-browser", data={"form_token": token}, headers={"origin": ORIGIN}).status_code == 403
    nobody = stranger(tmp_path)
    for path in ("/", *(f"/{place}" for place in PLACES)):
        assert nobody.get(path, follow_redirects=False).status_code == 403
    assert browser.submit("/another-browser").status_code == 200  # so the check can pass


def test_a_token_works_once_and_for_ten_minutes():
    now = [0.0]
    entrance = Entrance(clock=lambda: now[0])
    token = entrance.new_token()
    assert len(bytes.fromhex(token)) * 8 == 256
    cookie = entrance.enter(token)
    assert entrance.visit(cookie) is not None
    assert entrance.enter(token) is None  # replayed
    late = entrance.new_token()
    now[0] += TOKEN_SECONDS + 1
    assert entrance.enter(late) is None
    assert entrance.visit("guessed") is None and entrance.visit(None) is None


def test_five_wrong_tokens_make_the_right_one_void():
    entrance = Entrance()
    right = entrance.new_token()
    for guess in range(WRONG_TOKENS - 1):
        assert entrance.enter(f"{guess:064x}") is None
    assert entrance.enter(right) is not None  # four wrong ones do not
    right = entrance.new_token()
    for guess in range(WRONG_TOKENS):
        assert entrance.enter(f"{guess:064x}") is None
    assert entrance.enter(right) is None


def test_the_cookie_is_strict_hidden_from_scripts_named_by_the_port_and_for_secret_paths_alone(tmp_path):
    entrance = Entrance()
    browser = stranger(tmp_path, entrance=entrance)
    answer = browser.get("/enter", params={"token": entrance.new_token()}, follow_redirects=False)
    assert answer.status_code == 200, "a redirect would lose the cookie"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"copublish-studio-{PORT}=")
    assert {"HttpOnly", "SameSite=strict", f"Path={entrance.root}"} <= {part.strip() for part in cookie.split(";")}


def test_whoever_does_not_know_the_secret_first_part_is_refused_even_with_cookie_and_token(tmp_path):
    browser = entered(tmp_path)
    secret, cookie = browser.root[1:], browser.cookies[cookie_name(PORT)]
    stolen = {"cookie": f"{cookie_name(PORT)}={cookie}", "origin": ORIGIN}
    form = {"form_token": browser.form_token}
    assert len(bytes.fromhex(secret)) * 8 == 256 and secret != entered(tmp_path).root[1:]
    guesses = ("", f"/{'0' * 64}", f"/{secret[:-1]}", f"/{secret}x", f"//{secret}", f"/x/{secret}")
    for guess in guesses:
        for path in ("/", "/read", "/static/studio.css", "/enter?token=x", "/nowhere"):
            answers = [browser.get(f"{ORIGIN}{guess}{path}", headers=stolen)]
            answers.append(browser.post(f"{ORIGIN}{guess}{path}", headers=stolen, data=form))
            answers.append(browser.request("PUT", f"{ORIGIN}{guess}{path}", headers=stolen))
            assert {answer.status_code for answer in answers} == {404}, (guess, path)
            assert not any(known in answer.text for answer in answers for known in (secret, cookie))
            assert not any("location" in answer.headers or "set-cookie" in answer.headers for answer in answers)
    answer = browser.post(f"{ORIGIN}/{secret}/another-browser", headers=stolen, data=form)
    assert answer.status_code == 200  # so the check can pass


def test_every_address_of_every_page_is_below_the_secret_first_part(tmp_path):
    (tmp_path / "agreement.toml").write_text(example_agreement())
    browser, nobody = entered(tmp_path, party="bank"), stranger(tmp_path)
    paths = [route.path for route in browser.app.routes if "GET" in route.methods and "{" not in route.path]
    assert len(paths) > 10
    answers = [browser.get(path) for path in paths] + [nobody.get("/enter")]
    addresses = [
        address
        for answer in answers
        if answer.headers.get("content-type", "").startswith("text/html")
        for address in [*ADDRESSES.findall(answer.text), *REFRESHED.findall(answer.text)]
    ]
    assert len(addresses) > 100
    roots = (f"{browser.root}/", f"{nobody.root}/")
    assert [address for address in addresses if not address.startswith(roots)] == []
    assert browser.get("/").headers["location"] == f"{browser.root}/draft"


def test_templates_have_addresses_in_no_other_attribute():
    """What the page puts the secret part before is a list of attributes: a template with another one would be lost."""
    found = [text for file in STUDIO.rglob("*.j2") for text in ADDRESSES.findall(file.read_text())]
    ours = [text for file in STUDIO.rglob("*.j2") for text in OWN_ADDRESS.findall(file.read_text())]
    assert len(found) == len(ours) > 50
    assert ADDRESSES.findall("<a data-to=\"/x\" href=/y hx-put='/z'>") == ["/x", "/y", "/z"]


def test_two_browsers_have_tokens_of_their_own_and_see_the_same(tmp_path):
    first = entered(tmp_path)
    address = re.search(rf"{ORIGIN}{first.root}/enter\?token=\w+", first.submit("/another-browser").text)
    second = Browser(first.app, first.root)
    assert second.get(address[0]).status_code == 200
    pages = [re.sub(r'value="\w{64}"', "", browser.get("/run").text) for browser in (first, second)]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("path", ["/read", "/nowhere", "/static/studio.css", "/enter?token=x", "/static/../app.py"])
def test_every_answer_has_the_policy(tmp_path, path):
    for browser in (entered(tmp_path), stranger(tmp_path)):
        headers = browser.get(path).headers
        assert {name: headers.get(name) for name in HEADERS} == HEADERS
        assert "server" not in headers and "unsafe" not in headers["content-security-policy"]


def test_looking_changes_nothing_and_other_methods_are_not_answered(tmp_path):
    browser = entered(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for route in browser.app.routes:
        assert route.methods in ({"GET", "HEAD"}, {"POST"}), route.path
        if "GET" in route.methods and "{" not in route.path:
            browser.get(route.path)
    assert sorted(tmp_path.rglob("*")) == before
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        assert browser.request(method, "/read").status_code == 405


def test_a_body_that_says_to_be_large_is_refused_unread(tmp_path):
    browser = entered(tmp_path)
    for length in (str(LARGEST_BODY + 1), "2147483648", "9" * 40, "-1"):
        headers = {"origin": ORIGIN, "content-length": length}
        assert browser.post("/another-browser", content=b"", headers=headers).status_code == 413


def test_two_gibibytes_without_a_length_are_cut_off_as_they_arrive(tmp_path):
    """A real socket and chunks without an end: the server answers after its bound, not after 2 GiB."""
    with served(desk_in(tmp_path)) as (port, entrance):
        head = (
            f"POST {entrance.root}/another-browser HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n"
            f"Cookie: {cookie_name(port)}={entrance.enter(entrance.new_token())}\r\nTransfer-Encoding: chunked\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
        )
        part = b'--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
        chunk, sent, answer = b"%x\r\n" % 2**20 + bytes(2**20) + b"\r\n", 0, b""
        with socket.create_connection(("127.0.0.1", port), timeout=20) as line, suppress(OSError):
            line.sendall(head.encode() + b"%x\r\n" % len(part) + part + b"\r\n")
            with suppress(OSError):  # the server closes the line
                while sent < 2 * 2**30:
                    line.sendall(chunk)
                    sent += 2**20
            while more := line.recv(4096):
                answer += more
    assert sent < 64 * 2**20
    assert answer == b"" or answer.startswith(b"HTTP/1.1 413")


def test_more_than_twenty_files_are_not_taken(tmp_path):
    browser = entered(tmp_path)
    for number, status in ((20, 200), (21, 400)):
        files = [("f", (f"{place}.toml", b"x")) for place in range(number)]
        assert browser.submit("/another-browser", files=files).status_code == status


def test_without_the_extra_the_command_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr("copublish.cli.studio_command.find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["studio"])
    assert isinstance(done.exception, CopublishError) and "copublish[studio]" in str(done.exception)


def test_htmx_is_the_one_that_was_vetted():
    assert hashlib.sha256((STUDIO / "static" / "htmx.min.js").read_bytes()).hexdigest() == HTMX_2_0_11


def escapes_lifted(text: str) -> list[str]:
    """What would put text into a page as it is, or code into a page."""
    return re.findall(
        r"\|\s*safe|autoescape\s+false|Markup\(|\bstyle=|\son\w+=|<script>|hx-on|javascript:|hx-vals=.js", text
    )


def test_no_template_lifts_escaping_or_has_a_script_or_a_style_in_it():
    files = [*STUDIO.rglob("*.j2"), *STUDIO.rglob("*.py")]
    assert len(files) > 15
    assert {file.name: found for file in files if (found := escapes_lifted(file.read_text()))} == {}
    assert escapes_lifted('{{ name | safe }}<p style="x" onclick="y">') == ["| safe", " style=".strip(), " onclick="]
