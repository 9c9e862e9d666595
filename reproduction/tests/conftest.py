"""Tests of the papers take Hypothesis's profile from the tests of the package."""

from support import profiles as _profiles  # noqa: F401 - importing it loads the profile
