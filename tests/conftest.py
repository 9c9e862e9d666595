"""What all tests share: whatever server a test started is stopped at the end, in every test process."""

from __future__ import annotations

from support import postgres


def pytest_sessionfinish() -> None:
    postgres.stop()
