"""The VHDP paper's scores of releases of copublish: against entropies of another library, for vhdp only."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest
from scipy import stats

from benchmark_files import write_benchmark_files, write_statlog_file
from copublish.agreement.loading import agreement_from_mapping
from copublish.errors import EvaluationError
from copublish.party.local.simulation import simulate_fragments
from copublish_reproduction.labeled_table import STATLOG_COLUMNS
from copublish_reproduction.vhdp_beside import OwnReleases
from copublish_reproduction.vhdp_release import scores_of_release


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = write_statlog_file(write_benchmark_files(tmp_path_factory.mktemp("benchmark"), 300))
    return OwnReleases.of("statlog", folder)


def gain_ratio(rows: pd.DataFrame, name: str) -> float:
    joint = pd.crosstab(rows[name], rows["class"]).to_numpy()
    label, column, both = (stats.entropy(counts) for counts in (joint.sum(0), joint.sum(1), joint.ravel()))
    return (label + column - both) / column


@pytest.mark.parametrize("rule", ["protect-informative", "use-informative"])
def test_scores_of_a_release_are_those_of_its_records(own, rule):
    release = simulate_fragments(own.agreement(rule, 0.4), own.fragments)
    found, published = scores_of_release(release, own.rows), release.to_pandas()
    assert list(found) == list(STATLOG_COLUMNS[:-1])
    for name, score in found.items():
        before, after = gain_ratio(own.rows, name), gain_ratio(published, name)
        epsilon = float(Fraction(release.published.model.division.columns[name].epsilon))
        assert (score.before, score.after) == pytest.approx((before, after), abs=1e-9)
        assert score.ilpg == pytest.approx((after - before) / (1 + 1 / epsilon), abs=1e-9)
        assert score.bias == pytest.approx(abs(after - before), abs=1e-9)
    joint = scores_of_release(release, own.rows, "joint")
    assert joint["age"].after == pytest.approx(found["age"].after - 1)


def test_ilpg_is_of_perturbed_records_only(own):
    content = own.agreement("use-informative", 0.4).model_dump(by_alias=True)
    copula = agreement_from_mapping(content | {"mechanism": {"name": "copula"}})
    with pytest.raises(EvaluationError, match="a release of 'vhdp'"):
        scores_of_release(simulate_fragments(copula, own.fragments), own.rows)
