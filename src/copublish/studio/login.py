"""Who may look: a one-time token in an address, exchanged for a cookie that this server alone knows.

Every address begins with a part that nobody else can guess, and the cookie is for addresses below it: browsers send
cookies to all ports of a host, so without it any other server of this machine could read ours.

There are no accounts. Whoever can read this person's terminal, or the files that only this person can read, may enter.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

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
