"""Choose epsilon and a mechanism on public or made-up data. Nothing here spends budget."""

from __future__ import annotations

from copublish.lazy_names import lazy_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from copublish.tools.planning.links import Link, measured_link, over_link, usual_links
    from copublish.tools.planning.meaning import Meaning, epsilon_for_error, epsilon_in_words, meaning
    from copublish.tools.planning.release_plan import ReleasePlan
    from copublish.tools.planning.side_by_side import MechanismTrial, is_tie, side_by_side, try_mechanism
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "copublish.tools.planning.links": ("Link", "measured_link", "over_link", "usual_links"),
            "copublish.tools.planning.meaning": ("Meaning", "epsilon_for_error", "epsilon_in_words", "meaning"),
            "copublish.tools.planning.release_plan": ("ReleasePlan",),
            "copublish.tools.planning.side_by_side": ("MechanismTrial", "is_tie", "side_by_side", "try_mechanism"),
        },
    )

__all__ = [
    "Link",
    "Meaning",
    "MechanismTrial",
    "ReleasePlan",
    "epsilon_for_error",
    "epsilon_in_words",
    "is_tie",
    "meaning",
    "measured_link",
    "over_link",
    "side_by_side",
    "try_mechanism",
    "usual_links",
]
