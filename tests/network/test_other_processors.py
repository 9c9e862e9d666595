"""Parties whose processors do floating point in different ways end with the same release.

That all mechanisms publish the same on both is in `tests/secure/test_recorded_releases.py`.
"""

from __future__ import annotations

from processors import OLD, USUAL
from support.node import NAMES, finish, on_loopback

MARGINALS = (
    ('name = "specialization"', 'name = "marginals"'),
    ("specializations = 3", "rounds = 2"),
    ('score = "max"', ""),
)


def test_an_old_processor_and_another_one_fit_the_same_model(tmp_path):
    parties = on_loopback(tmp_path, changes=MARGINALS)
    begun = [parties.start(name, env=processor) for name, processor in zip(NAMES, (OLD, USUAL), strict=True)]
    ends = [finish(process) for process in begun]
    assert [code for code, _, _ in ends] == [0, 0], ends
    assert parties.files("bank") == parties.files("loans") != {}
