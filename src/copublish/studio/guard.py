"""Who may look at the page, and what every request has to pass before a page is made.

Entry is by a one-time token in an address, exchanged for a cookie that this server alone knows. There are no accounts.
Whoever can read this person's terminal, or the files that only this person can read, may enter.

The order of checks matters. A page of another site can make a browser send requests here, and by changing what a name
resolves to it can even read the answers: so the Host header is compared first, exactly, for every path. Browsers send
cookies to all ports of a host, where servers of other people may listen: so all that is here lies below a secret first
part of the path, the cookie is for that part alone, and whoever does not know it is refused before anything else is
looked at. Browsers also count other ports of this machine as the same site, so a cookie alone proves nothing: whatever
changes something needs our own Origin, and `routing.py` asks for the form's token besides.

Sections and templates write addresses without the secret part. It is put before them here, in redirects, and in
`pages.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_BYTES = 32
TOKEN_SECONDS = 600
"""How long an address can be used after it was shown."""

WRONG_TOKENS = 5
"""After so many wrong ones no address that is open works any more."""


@dataclass(frozen=True, repr=False)
class Visit:
    """A browser that has entered.

    Attributes:
        form_token: What every form of this browser carries, besides the cookie: a page of another port of this machine
            can make the browser send the cookie, and cannot read this.
    """

    form_token: str

    def made(self, form_token: object) -> bool:
        """Whether a form came from a page that this server made for this browser."""
        return isinstance(form_token, str) and hmac.compare_digest(form_token.encode(), self.form_token.encode())


class Entrance:
    """Tokens that can still be used, and the browsers that used one.

    Nothing here is written to disk: who restarts the server enters again.

    Args:
        clock: Seconds that only go forward.

    Attributes:
        root: What every path of this server begins with, `/` and 256 random bits. It is as secret as the cookie.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = f"/{_random_text()}"
        self._clock, self._lock = clock, threading.Lock()
        self._tokens: dict[bytes, float] = {}  # by their hash, so that comparing takes the same time for every guess
        self._wrong = 0
        self._visits: dict[bytes, Visit] = {}

    def new_address(self, host: str) -> str:
        """An address that lets one browser in, once, within ten minutes; `host` has the port in it."""
        return f"http://{host}{self.root}/enter?token={self.new_token()}"

    def new_token(self) -> str:
        """A token that lets one browser in, once, within ten minutes."""
        token = _random_text()
        with self._lock:
            self._tokens[_hash(token)] = self._clock() + TOKEN_SECONDS
            self._wrong = 0
        return token

    def enter(self, token: str) -> str | None:
        """Exchange a token for the value of a cookie; nothing if it is wrong, late or used.

        Five wrong ones make every token void: who has a right one asks the server for another.
        """
        with self._lock:
            until = self._tokens.pop(_hash(token), None)
            if until is None:
                self._wrong += 1
                if self._wrong >= WRONG_TOKENS:
                    self._tokens.clear()
                return None
            if self._clock() > until:
                return None
            cookie = _random_text()
            self._visits[_hash(cookie)] = Visit(form_token=_random_text())
            return cookie

    def is_below(self, path: str) -> bool:
        """Whether a path begins with what only those know whom this server has told."""
        first = path.encode("utf-8", "surrogatepass")[: len(self.root)]
        return hmac.compare_digest(first, self.root.encode()) and path[len(self.root) :].startswith("/")

    def visit(self, cookie: str | None) -> Visit | None:
        """The browser that a cookie belongs to, if this server gave it away."""
        return None if cookie is None else self._visits.get(_hash(cookie))


def _random_text() -> str:
    return os.urandom(TOKEN_BYTES).hex()


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


MIB = 2**20
LARGEST_BODY = 5 * MIB + 2**16
"""Bytes of one request: files of 5 MiB in all, and the form around them."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    # Not no-referrer: with it browsers send forms with the Origin null, which is what a foreign page could send, too.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

OPEN_PATHS = ("/enter", "/static/")
"""What needs no cookie: the exchange of a token, and files that are the same everywhere."""

SAFE_METHODS = ("GET", "HEAD")
DEBUG_VARIABLE = "COPUBLISH_DEBUG"
VISIT = "copublish.visit"
"""Where a request keeps whose it is."""

NOT_ENTERED = (
    "This page opens with the address that 'copublish studio' printed in its terminal, once, within ten minutes. "
    "Start it again for another address, or use 'Another browser' on a page that is open."
)


def cookie_name(port: int) -> str:
    """The cookie's name has the port in it: browsers keep one set of cookies for all ports of a host."""
    return f"copublish-studio-{port}"


class Guard:
    """The outermost layer of the server.

    Args:
        app: What is guarded.
        port: The port that the server is bound to.
        entrance: Who has entered.
    """

    def __init__(self, app: ASGIApp, *, port: int, entrance: Entrance) -> None:
        self._app, self._port, self._entrance = app, port, entrance
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there is no page that speaks anything else
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = _Answer(send, self._entrance.root)
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, answer)
            return
        scope["root_path"] = self._entrance.root
        try:
            await self._app(scope, _counted(receive), answer)
        except Exception:
            # What went wrong can name private values: it goes to whoever asked for it, and never into a page or a log.
            if os.environ.get(DEBUG_VARIABLE):
                traceback.print_exc(file=sys.stderr)
            if not answer.begun:
                bug = "copublish met something that it did not expect. This is a bug; nothing was charged by this page."
                await PlainTextResponse(bug, 500)(scope, receive, answer)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = scope["headers"]
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return _refused("This server answers under the address that its terminal shows, and under no other.", 421)
        if not self._entrance.is_below(scope["path"]):
            return _refused(NOT_ENTERED, 404)
        if scope["method"] not in (*SAFE_METHODS, "POST"):
            return _refused("There is nothing here that this method would do.", 405)
        if scope["method"] == "POST" and _values(headers, b"origin") != [f"http://{hosts[0]}"]:
            return _refused("This came from a page of somebody else, so nothing was done.", 403)
        if any(not _is_small(length) for length in _values(headers, b"content-length")):
            return _too_large()
        visit = self._entrance.visit(_cookie(headers, cookie_name(self._port)))
        scope[VISIT] = visit
        if visit is None and not scope["path"].removeprefix(self._entrance.root).startswith(OPEN_PATHS):
            return _refused(NOT_ENTERED, 403)
        return None


class _Answer:
    """Sends an answer with the headers that all of them have, and redirects to where the server's addresses lie.

    A page may set a stricter policy of its own, never leave one out.
    """

    def __init__(self, send: Send, root: str) -> None:
        self._send, self._root, self.begun = send, root.encode(), False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            message["headers"] = [self._led(*header) for header in message.get("headers", [])]
            _add_headers(message)
        await self._send(message)

    def _led(self, name: bytes, value: bytes) -> tuple[bytes, bytes]:
        is_ours = name.lower() == b"location" and value.startswith(b"/")
        return name, self._root + value if is_ours else value


def _add_headers(message: MutableMapping[str, Any]) -> None:
    there = {name.lower() for name, _ in message.get("headers", [])}
    ours = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in there]
    message["headers"] = [*message.get("headers", []), *ours]


def _counted(receive: Receive) -> Receive:
    """The body as it arrives, up to a bound: what a header says of its length is not believed."""
    arrived = 0

    async def next_part() -> Message:
        nonlocal arrived
        message = await receive()
        arrived += len(message.get("body", b""))
        if arrived > LARGEST_BODY:
            raise HTTPException(413, headers={"connection": "close"})
        return message

    return next_part


def _refused(why: str, status: int) -> PlainTextResponse:
    # A refused body is not read, so the connection cannot be used for another request.
    return PlainTextResponse(why + "\n", status, headers={"connection": "close"})


def _too_large() -> PlainTextResponse:
    return _refused(f"This is more than {LARGEST_BODY // MIB} MiB. Nothing of it was kept.", 413)


def _is_small(length: str) -> bool:
    return length.isdecimal() and len(length) < 12 and int(length) <= LARGEST_BODY


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for found, value in headers if found.lower() == name]


def _cookie(headers: Iterable[tuple[bytes, bytes]], name: str) -> str | None:
    found = [cookie_parser(line).get(name) for line in _values(headers, b"cookie")]
    return next(filter(None, found), None)
