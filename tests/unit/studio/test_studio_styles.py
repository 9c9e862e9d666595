"""Colors that everybody can tell apart: WCAG 2.2, 1.4.3 (text, 4.5:1) and 1.4.11 (graphics, 3:1)."""

from __future__ import annotations

import re
from importlib import resources

import pytest

SHARED = resources.files("copublish").joinpath("release", "report", "shared.css").read_text()


def colors(css: str) -> list[dict[str, str]]:
    """The colors of every `:root` block: light, then dark."""
    blocks = re.findall(r":root \{(.*?)\}", css, flags=re.S)
    return [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in blocks]


def contrast(one: str, other: str) -> float:
    """By the formula of WCAG 2.2, "relative luminance" and "contrast ratio"."""

    def luminance(color: str) -> float:
        parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_text_and_bars_stand_out_from_every_ground(mode):
    of = colors(SHARED)[mode]
    for ground in ("paper", "wash", "notice", "warning"):
        for text in ("ink", "quiet", "accent", "second"):
            assert contrast(of[text], of[ground]) >= 4.5, (text, ground)
    for ground in ("paper", "wash"):
        for graphic in ("bar", "accent", "second", "warning-line"):
            assert contrast(of[graphic], of[ground]) >= 3, (graphic, ground)


def test_the_measure_of_contrast_can_fail():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the known gray that just fails
