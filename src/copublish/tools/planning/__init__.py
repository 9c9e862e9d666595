"""Before anything is spent: what a release would be worth and cost, tried out on public or made-up data."""

from copublish.tools.planning.advice import plan_release

__all__ = ["plan_release"]
