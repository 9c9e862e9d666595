"""Values that spreadsheet programs would run: people are warned, and what is published stays as agreed."""

from __future__ import annotations

import numpy as np
import pytest

import copublish as cp
from copublish.agreement.columns import formula_warning
from support import fragment_frames, mapping_by_default, random_table, seeded, simulate_with


def agreed(name: str = "region", value: str = "north", **changes: object) -> cp.Agreement:
    mapping = mapping_by_default(**changes)
    attributes = {key: entry for key, entry in mapping["attributes"].items() if key != "region"}
    attributes[name] = {"kind": "categorical", "values": [value, "south"], "held_by": "loans"}
    return cp.agreement_from_mapping({**mapping, "attributes": attributes})


@pytest.mark.parametrize("text", ["=1+2", "+x", "-x", "@SUM(A1)", "=cmd|' /C calc'!A0", "-1+1", "+1-1", "-", "=1"])
def test_a_name_or_a_value_that_would_be_run_is_warned_of(text):
    for agreement in (agreed(value=text), agreed(name=text)):
        assert any("formulas" in warning for warning in cp.describe(agreement).warnings)


@pytest.mark.parametrize("text", ["north", "-1", "+2.5", "-1e5", "-.5", "a=1", "[-1, 2)"])
def test_numbers_and_other_texts_are_not(text):
    agreement = agreed(value=text)
    assert formula_warning(agreement.columns) is None
    assert not any("formulas" in warning for warning in cp.describe(agreement).warnings)


def test_labels_inside_a_taxonomy_and_classes_count_as_values():
    tree = {"ANY": {"=Group": {"a": {}, "b": {}}, "c": {}}}
    assert "'job'" in str(formula_warning(agreed(**{"attributes.job.taxonomy": tree}).columns))
    assert "'default'" in str(formula_warning(agreed(**{"class.values": ["no", "@yes"]}).columns))


@pytest.mark.parametrize("mechanism", [{"name": "specialization"}, {"name": "copula"}])
def test_the_readme_and_the_report_warn_and_the_values_stay(mechanism):
    for value, warned in (("=1+2", True), ("north", False)):
        agreement, generator = agreed(value=value, mechanism=mechanism), np.random.default_rng(1)
        table = random_table(agreement, 200, generator)
        coins = seeded(agreement.party_names, 1)
        release = simulate_with(agreement, fragment_frames(agreement, table, generator), coins)
        files = release.files()
        assert ("spreadsheet programs" in files["README.md"].decode()) == warned
        assert ("spreadsheet programs" in cp.report(release).html) == warned
        published = {name: content for name, content in files.items() if name.endswith(".csv")}
        assert published and not any(f"'{value}".encode() in content for content in published.values())
