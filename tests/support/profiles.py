"""Hypothesis profiles: `test` tries the same examples in every run, `fuzz` random ones and ten times as many.

No example has a deadline: on a busy machine any of them may take long. `make fuzz` loads the second profile. What it
finds becomes an explicit `@example` of the test.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import HealthCheck, Phase, settings

USUAL_EXAMPLES = 100
"""Examples of a test that does not say how many."""

TIMED = (HealthCheck.too_slow,)
"""Health checks that depend on how fast the machine is."""

settings.register_profile(
    "test",
    max_examples=USUAL_EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=TIMED,
)
settings.register_profile(
    "fuzz",
    settings.get_profile("test"),
    max_examples=10 * USUAL_EXAMPLES,
    derandomize=False,
    print_blob=True,
)
settings.load_profile("test")  # unless pytest gets --hypothesis-profile, which is loaded after this


def examples(number: int = USUAL_EXAMPLES, *, unchecked: Sequence[HealthCheck] = (), shrinks: bool = True) -> settings:
    """Settings of a test with its own number of examples.

    Args:
        number: Examples in a test run. Other profiles have more of them in the same proportion.
        unchecked: Health checks to leave out besides those that depend on time.
        shrinks: Whether to look for the smallest example that fails. It takes long where one example does.
    """
    return settings(
        max_examples=number * settings.default.max_examples // USUAL_EXAMPLES,
        suppress_health_check=(*TIMED, *unchecked),
        phases=[phase for phase in Phase if shrinks or phase not in (Phase.shrink, Phase.explain)],
    )
