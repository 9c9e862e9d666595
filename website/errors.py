"""What can be wrong with the site."""

from __future__ import annotations


class SiteError(Exception):
    """The site cannot be built, or is not what it should be."""


class BrokenLinkError(SiteError):
    """A page links to a file that is not there."""


class UnexplainedKeyError(SiteError):
    """The page about agreements says nothing of a key that agreements can have."""
