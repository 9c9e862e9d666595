"""Budgets whose noise would not leave room for scores are refused before anybody takes part."""

from __future__ import annotations

import pytest

import copublish as cp
from copublish.errors import AgreementError
from support import repartition, small_mapping


def agreement_with(epsilon: str, share: str) -> cp.Agreement:
    mechanism = {"name": "specialization", "specializations": 100, "selection_share": share, "max_cells": 2**22}
    privacy = {"privacy.epsilon": epsilon, "privacy.neighbors": "replace"}
    return cp.agreement_from_mapping(repartition(small_mapping(mechanism=mechanism, **privacy), "horizontal", 2))


def test_noise_that_is_larger_than_scores_may_be_is_refused():
    cp.describe(agreement_with("0.00001", "0.4"))
    with pytest.raises(AgreementError, match="so little is left for each specialization"):
        cp.describe(agreement_with("0.000001", "0.01"))
