"""`python -m website`: build the documentation site and say where it is."""

from __future__ import annotations

import sys

from website.build import build_site
from website.errors import SiteError


def main() -> None:
    """Build the site; what is wrong with it goes to stderr."""
    try:
        site = build_site()
    except SiteError as error:
        sys.exit(str(error))
    print(f"Wrote the site. Open {(site / 'index.html').as_uri()}")


if __name__ == "__main__":
    main()
