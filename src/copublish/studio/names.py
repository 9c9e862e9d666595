"""Names of files, which need not be text."""

from __future__ import annotations

from pathlib import Path


def is_text(path: Path) -> bool:
    """Whether a path can be written on a page and comes back in a form as it was.

    Systems allow any bytes in names. What is no UTF-8 among them Python holds as halves of letters, which no page can
    have: such files are left out of lists, since another path would come back.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True
