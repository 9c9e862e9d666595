"""One party's own rows: reading, checking, encoding and counting them. Nothing here leaves the party."""

from copublish.fragments.fragment import Axis, Fragment, local_histogram, partial_cells

__all__ = ["Axis", "Fragment", "local_histogram", "partial_cells"]
