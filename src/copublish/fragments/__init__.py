"""One party's own rows: reading, checking, encoding and counting them. Nothing here leaves the party."""

from copublish.fragments.fragment import Axis, Fragment, local_histogram, partial_cells
from copublish.fragments.reading import check_columns, read_fragment

__all__ = ["Axis", "Fragment", "check_columns", "local_histogram", "partial_cells", "read_fragment"]
