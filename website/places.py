"""Where things are: sources of the site in the repository, and what a build writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTEBOOKS = DOCS / "notebooks"
PICTURES = DOCS / "pictures"
THEME = Path(__file__).parent / "theme"
CONFIGURATION = ROOT / "mkdocs.yml"

PAGES_BESIDE_DOCS = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "reproduction/README.md": "reproduction.md",
}
"""Pages of the repository that lie outside docs/, and their places in the site."""

STAND_INS = {"README.md": "index.md", "docs/decisions": "decisions/index.md"}
"""What links lead to that has another page in the site: the first page, and the list of decisions."""


@dataclass(frozen=True)
class Build:
    """The folder that a build writes.

    Attributes:
        folder: All of it.
    """

    folder: Path

    @property
    def pages(self) -> Path:
        """Markdown, pictures and styles, as Zensical reads them."""
        return self.folder / "pages"

    @property
    def site(self) -> Path:
        """The site."""
        return self.folder / "site"

    @property
    def workshop(self) -> Path:
        """Where notebooks run: made-up data of two parties, and their release."""
        return self.folder / "workshop"
