"""Sentences about columns: what becomes of values that a column without a category for them has nevertheless."""

from __future__ import annotations

import copublish as cp
from copublish.agreement.columns import replaced_values
from copublish.release.describe import describe
from support import small_mapping


def test_columns_without_a_category_for_missing_or_unlisted_values_are_named_with_what_those_become() -> None:
    changes = {"attributes.age.missing": 40, "attributes.income.missing": "category"}
    agreement = cp.agreement_from_mapping(small_mapping(**changes))
    missing = next(sentence for sentence in replaced_values(agreement) if "no missing values" in sentence)
    assert "age 40" in missing and "income" not in missing
    assert describe(agreement).to_dict()["replaced"] == list(replaced_values(agreement))
    assert "Columns that are taken to be complete" in str(describe(agreement))


def test_columns_with_categories_for_them_are_not_named() -> None:
    agreement = cp.agreement_from_mapping(small_mapping())
    everything = {
        f"attributes.{name}.{key}": value
        for name, attribute in agreement.attributes.items()
        for key, value in {"missing": "category", "unlisted": "other"}.items()
        if key == "missing" or attribute.kind == "categorical"
    }
    complete = cp.agreement_from_mapping(small_mapping(**everything))
    assert list(replaced_values(complete)) == [] and "replaced" not in describe(complete).to_dict()
