"""From noisy numbers to estimates: what is possible at all bounds every interval."""

from __future__ import annotations

import math

from copublish.mechanisms.reading.estimate import LARGEST_PART, Estimate, Unit, nothing_to_say
from copublish.mechanisms.reading.noisy import Interval, NoisyNumber, ratio


def estimate_of(
    found: Interval,
    *,
    least: float,
    most: float,
    confidence: float,
    how: str,
    unit: Unit,
    ends: tuple[float, float] | None = None,
) -> Estimate:
    """An estimate from an interval of noise.

    Args:
        found: The value and what noise makes of it.
        least: The smallest value that is possible.
        most: The largest.
        confidence: Of the interval.
        how: How it was computed.
        unit: What it counts.
        ends: The interval with what cells hide, if that is more than noise.
    """
    low, high = (min(max(end, least), most) for end in (ends or (found.low, found.high)))
    tells = found.is_bounded and found.is_sure
    if tells and math.isfinite(most - least):
        from_, to = (min(max(end, least), most) for end in found.usual or (found.low, found.high))
        tells = to - from_ < LARGEST_PART * (most - least)
    if not tells:
        return nothing_to_say(low, high, confidence=confidence, how=how, unit=unit)
    value = min(max(found.value, least), most)
    return Estimate(
        value=value,
        standard_error=found.standard_error,
        within=max(found.high - found.value, found.value - found.low),
        low=min(low, value),
        high=max(high, value),
        confidence=confidence,
        how=how,
        unit=unit,
    )


def estimate_count(number: NoisyNumber, confidence: float, how: str, *, stated_within: float | None = None) -> Estimate:
    """A number of people. Its value is unbiased, so it can be negative; its interval is not.

    Args:
        number: What was measured.
        confidence: Of the interval.
        how: How it was computed.
        stated_within: How far noise moves it at most, where the certificate says so.
    """
    within = number.within(confidence) if stated_within is None else stated_within
    return Estimate(
        value=number.value,
        standard_error=number.deviation,
        within=within,
        low=max(number.value - within, 0.0),
        high=max(number.value + within, 0.0),
        confidence=confidence,
        how=how,
        unit="people",
    )


def estimate_share(part: NoisyNumber, whole: NoisyNumber, confidence: float, how: str) -> Estimate:
    """A part of a whole, from 0 to 1."""
    found = ratio(part, whole, confidence)
    return estimate_of(found, least=0.0, most=1.0, confidence=confidence, how=how, unit="share")
