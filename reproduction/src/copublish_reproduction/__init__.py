"""The algorithms of the five papers as published, what they were compared with, and their experiments.

For public benchmark data alone. ArbDistDP, DistDiffGen, iDP-IR, HPDP-DP and VHDP run here in the clear as printed; none
is differentially private as printed, which `docs/results.md` shows. It is a distribution of its own, which adds the
command `copublish reproduce`; copublish itself imports none of it.
"""

NOT_PRIVATE = "as published, not differentially private"
"""Stands beside every result of a published algorithm that does not keep its promise."""
