"""Release folders of this party: those beside the agreement, below data folders, and where runs have put them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from starlette.exceptions import HTTPException

from copublish.studio.context import Situation
from copublish.studio.names import is_text

CERTIFICATE = "certificate.json"
MOST_RELEASES = 200


def key_of(folder: Path) -> str:
    """What stands for a folder in addresses: they show no path."""
    return hashlib.sha256(str(folder.absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def release_folders(situation: Situation) -> list[Path]:
    """All of them whose names can be shown, newest first."""
    folders = {folder.absolute() for folder in _candidates(situation)}
    found = [folder for folder in folders if is_text(folder) and (folder / CERTIFICATE).is_file()]
    newest = sorted(found, key=lambda folder: (folder / CERTIFICATE).stat().st_mtime, reverse=True)
    return newest[:MOST_RELEASES]


def folder_of(situation: Situation, key: str) -> Path:
    """The folder that an address means.

    Raises:
        HTTPException: If there is none.
    """
    for folder in release_folders(situation):
        if key_of(folder) == key:
            return folder
    raise HTTPException(404)


def _candidates(situation: Situation) -> Iterator[Path]:
    for run in situation.runs:
        yield run.out
    desk = situation.desk
    for folder in dict.fromkeys((desk.agreement_file.parent, *desk.data_folders)):
        for pattern in (CERTIFICATE, f"*/{CERTIFICATE}", f"*/*/{CERTIFICATE}"):
            for certificate in folder.glob(pattern):
                yield certificate.parent
