"""The page in a real Chromium, from data to a verified release, with the server killed on the way.

A real `copublish studio` for one party; the other one runs in a terminal. Any message of the console or of the content
policy, any request beyond the own origin and any byte in the browser's storage fails.
"""

from __future__ import annotations

import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import copublish as cp
from support import hands
from support.browser import browser
from support.commands import Begun
from support.many_parties import ManyParties, Together
from support.node import free_port
from support.studio import desk_in, served
from support.waiting import wait_until
from support.watched import Watched, studio

MASKED_BY_TWO = Together(
    names=("north", "south"),
    without_data=(),
    sections='\n[mechanism]\nname = "hpdp"\n[engine]\nname = "masked-sum"\n',
    phases=(),
)
"""Two owners mask their sums: a real run between processes that loads no secure engine."""


@pytest.fixture(scope="module")
def parties(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk") / "parties"
    return ManyParties(folder, MASKED_BY_TWO, {name: f"127.0.0.1:{free_port()}" for name in MASKED_BY_TWO.names})


def test_from_data_to_a_verified_release_with_the_server_killed_on_the_way(parties, tmp_path, monkeypatch):
    home = parties.home("north")
    with browser() as opened:
        first = Watched(opened)
        with studio(home) as (address, server):
            first.enter(address, tmp_path)
            page = first.page
            keys = hands.Keys(page)  # the only file of data is chosen already
            keys.press("nav >> text=Run")
            keys.press("text=Look at what the rules do to them")
            page.wait_for_selector("text=For your eyes, on this machine")
            first.look("run-preflight")
            keys.press("text=Start the run of many")
            page.wait_for_selector("text=Waiting for 'south'")
            first.look("run-waiting")
            server.kill()  # SIGKILL: nothing can be tidied up
            server.wait()
        assert first.complaints == []
        monkeypatch.setenv("COPUBLISH_HOME", str(home))
        (run,) = cp.runs.list_runs()
        assert run.state == "waiting", "the run goes on without the page"
        with studio(home) as (address, _):
            second = Watched(opened)
            second.enter(address, tmp_path)
            page = second.page
            keys = hands.Keys(page)
            keys.press("nav >> text=Run: waiting for south")
            page.wait_for_selector("text=Waiting for 'south'")
            other = Begun(parties.command("south")[3:], cwd=parties.home("south"))
            page.wait_for_selector("text=The release is made.")  # by itself: nobody loads the page again
            assert other.finish().returncode == 0
            second.look("run-complete")
            keys.press("text=Read it")
            page.wait_for_selector("text=Verified: 2 of 2 signatures, files unchanged")
            second.look("read-many")
            with page.expect_download() as kept:
                keys.press("text=Download the report")
            assert "<h1>many</h1>" in Path(kept.value.path()).read_text()
            keys.press("#tables ~ ul >> text=records")
            page.wait_for_selector("text=Rows 1 to 100 of")
            second.look("read-table")
            page.goto(address.split("/enter?")[0] + "/read")
            second.look("read-list")
            assert second.complaints == []
    charge = next(cp.runs.follow(run)).charge()
    assert (charge.state, charge.reserved, charge.opened) == ("complete", "1", "1")
    wait_until(lambda: not cp.runs.list_runs()[0].is_alive)
    assert parties.files("south")["certificate.json"] == (run.out / "certificate.json").read_bytes()


FIVE = """name,kind,values,bounds,unit
id,identifier,,,
age,number,,18..99,years
region,category,north|south|east|west,,
income,number,,0..200000,euros
job,category,farmer|clerk|driver|nurse|teacher|other,,
visits,number,,0..50,
loan,class,no|yes,,
"""
TYPED_IN_A_FOLDED_PART = """() => {
  const field = document.getElementById("expected");
  field.value = "many";
  field.dispatchEvent(new Event("input", { bubbles: true }));
}"""
HEIGHT = "document.documentElement.scrollHeight"
TOO_WIDE = "document.documentElement.scrollWidth > innerWidth"


def test_a_draft_of_five_columns_is_short_and_every_page_is_as_wide_as_the_window(tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    said = {"name": "five", "dataset": "people", "partition": "vertical", "identifier": "id", "epsilon": "1"}
    draft = cp.drafts.draft(dictionary=cp.drafts.dictionary_from_text(FIVE, "five.csv"), expected="1000", **said)
    form = cp.drafts.DraftForm.of(draft)
    form.parties = form.parties[:0]
    for party in ("bank", "lender"):
        form.add("parties")
        form.parties[-1].name, form.parties[-1].at_most = party, "2000"
    for number, column in enumerate(form.columns):
        column.held_by = ("bank", "lender")[number % 2]
    (tmp_path / "agreement.toml").write_text(cp.drafts.draft_text(form.read()[0]))
    assert len(cp.load_agreement(tmp_path / "agreement.toml").attributes) == 5
    with served(desk_in(tmp_path)) as (port, entrance), browser() as opened:
        own = f"http://127.0.0.1:{port}{entrance.root}"
        watched = Watched(opened)
        watched.enter(entrance.new_address(f"127.0.0.1:{port}"), tmp_path)
        page = watched.page
        for place in ("draft", "plan", "approve", "run", "read"):
            page.goto(f"{own}/{place}")
            watched.look(f"five-{place}")
            page.set_viewport_size({"width": 390, "height": 900})
            assert not page.evaluate(TOO_WIDE), place
            page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(f"{own}/draft")
        assert page.evaluate(HEIGHT) < 3000
        page.evaluate(TYPED_IN_A_FOLDED_PART)
        page.wait_for_selector("#said-expected >> text=records.expected")  # unfolds by itself, and shows the message
        assert page.locator("details.part[open]").count() == 1
        page.click("#columns-2 > summary")
        page.fill("#columns-2-upper", "300000")
        page.wait_for_selector("#digest-columns-2 >> text=0 to 300000", state="attached")
        page.select_option("#columns-2-kind", label="category")
        page.wait_for_selector("#columns-2[open] #columns-2-values", state="attached")
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        assert page.evaluate(HEIGHT) > 3000, "as it was when nothing was folded"
        page.evaluate("document.body.style.minWidth = '500px'")
        page.set_viewport_size({"width": 390, "height": 900})
        assert page.evaluate(TOO_WIDE), "the look at the width can fail"
        assert watched.complaints == []


HOSTILE = """<!doctype html><form id="f" method="post" action="{own}/another-browser"></form>
<iframe src="{own}/read"></iframe><script src="{own}/static/studio.js"></script>
<script>fetch("{own}/read", {{credentials: "include"}}).then(r => r.text()).then(t => document.title = t, () => {{}});
if (location.hash) document.getElementById("f").submit();</script>"""


def test_a_page_of_another_port_gets_no_cookie_and_does_nothing_with_the_one_in_the_browser(tmp_path, monkeypatch):
    """Browsers count other ports of this machine as the same site: they send strict cookies along, to those ports, too.

    The page of the other port knows the secret first part here, which it never should: it gets nothing even so. Its
    server does not, and shows by a cookie of its own that it would get any other one.
    """
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    with served(desk_in(tmp_path)) as (port, entrance), browser() as opened:
        own = f"http://127.0.0.1:{port}{entrance.root}"
        watched = Watched(opened)
        watched.enter(entrance.new_address(f"127.0.0.1:{port}"), tmp_path)
        page, cookies, received = watched.page, [], []
        plain = {"httpOnly": True, "sameSite": "Strict", "domain": "127.0.0.1", "path": "/"}
        watched.context.add_cookies([{"name": "for-all-paths", "value": "seen", **plain}])
        page.on("request", lambda asked: cookies.append(asked.all_headers().get("cookie", "")))
        other = ThreadingHTTPServer(("127.0.0.1", 0), partial(Hostile, HOSTILE.format(own=own).encode(), received))
        threading.Thread(target=other.serve_forever, daemon=True).start()
        try:
            page.goto(f"http://127.0.0.1:{other.server_port}/")
            page.wait_for_load_state("networkidle")
            for path in ("/", "/read", "/enter"):
                page.evaluate("path => fetch(path, {credentials: 'include'}).then(answer => answer.text())", path)
            assert len(received) >= 4 and all("for-all-paths=seen" in cookie for cookie in received)
            assert not any("copublish-studio" in cookie for cookie in received), "another server could read it"
            assert page.title() == "", "an answer could be read"
            assert "refused to connect" in page.frames[1].evaluate("document.body.innerText")  # no page in a frame
            assert any(f"copublish-studio-{port}" in cookie for cookie in cookies), "the browser sends it"
            page.goto(f"http://127.0.0.1:{other.server_port}/?again#now")
            page.wait_for_url(f"{own}/another-browser")
            assert "somebody else" in page.content() and "token=" not in page.content()
        finally:
            other.shutdown()
            other.server_close()


class Hostile(BaseHTTPRequestHandler):
    """Serves one page, whatever is asked for, and keeps the cookies that it gets."""

    def __init__(self, content: bytes, received: list[str], *connection) -> None:
        self.content, self.received = content, received
        super().__init__(*connection)

    def do_GET(self) -> None:  # the name that the base class calls
        self.received.append(self.headers.get("cookie", ""))
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *said) -> None:
        """Say nothing."""


def test_forms_work_without_scripts(parties, tmp_path, monkeypatch):
    home = parties.home("south")
    monkeypatch.setenv("COPUBLISH_HOME", str(home))
    with served(desk_in(home)) as (port, entrance), browser() as opened:
        plain = Watched(opened, java_script_enabled=False)
        plain.enter(entrance.new_address(f"127.0.0.1:{port}"), tmp_path)
        plain.page.goto(f"http://127.0.0.1:{port}{entrance.root}/run")
        plain.page.click("text=Look at what the rules do to them")
        plain.page.wait_for_selector("text=For your eyes, on this machine")
        assert plain.complaints == []


BY_MOUSE_ALONE = {
    "no frame": '<a href="#" id="it" style="outline: none">a</a>',
    "no key leads": '<button>a</button><p id="it" onclick="1">b</p>',
    "covered": '<button id="it">a</button><div style="position: fixed; inset: 0"></div>',
}


def test_the_watch_can_complain_and_who_has_keys_alone_can_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(hands, "MOST_STOPS", 5)
    (tmp_path / "page.html").write_text('<script>console.log("hello")</script><img src="http://localhost:9/x">')
    with browser() as opened:
        watched = Watched(opened)
        watched.page.goto((tmp_path / "page.html").as_uri())
        watched.page.wait_for_load_state("networkidle")
        keys = hands.Keys(opened.new_page())
        for why, body in BY_MOUSE_ALONE.items():
            keys.page.set_content(f"<style>:focus {{ outline: 3px solid }}</style>{body}")
            with pytest.raises(AssertionError, match=why):
                keys.go("#it")
    assert "console: hello" in watched.complaints
    assert "request: http://localhost:9/x" in watched.complaints
