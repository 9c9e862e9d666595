"""Trees of generalized values: from all values of a column to the published ones, and their picture."""

from __future__ import annotations

from functools import cache
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import copublish as cp
from copublish.agreement.domain import CategoricalDomain, CodeRange, Domain, TaxonomyNode
from copublish.release.questions.build import estimate_count
from copublish.release.questions.noisy import NoisyNumber
from copublish.release.render.parts import generalized_values
from copublish.release.render.tree import BARS, ROW, TreeValue, _node, partition_figure, partition_trees
from support.any_release import any_release, cases_of
from support.published import numbers

JOB = CategoricalDomain(
    "job",
    TaxonomyNode(
        "any",
        (
            TaxonomyNode("worker", (TaxonomyNode("cook"), TaxonomyNode("clerk"), TaxonomyNode("driver"))),
            TaxonomyNode("doctor", (TaxonomyNode("surgeon"), TaxonomyNode("vet"))),
        ),
    ),
)
AGE = numbers("age", 0, 10, 20, 50, missing=True)


def people(value: float) -> cp.Estimate:
    return estimate_count(NoisyNumber(value, np.array([1.0]), np.zeros(1)), 0.95, "")


def tree(domain: Domain, *runs: CodeRange) -> TreeValue:
    return _node(domain, (0, domain.size), {run: people(float(run[0])) for run in runs})


def outline(node: TreeValue) -> object:
    """Labels only: a text of a published value, else the label with what is below it."""
    return (node.label, [outline(child) for child in node.children]) if node.children else node.label


def test_categories_go_down_the_taxonomy_to_the_published_values() -> None:
    assert outline(tree(JOB, (0, 3), (3, 5))) == ("any", ["worker", "doctor"])
    found = tree(JOB, (0, 3), (3, 4), (4, 5))
    assert outline(found) == ("any", ["worker", ("doctor", ["surgeon", "vet"])])
    assert [leaf.label for leaf in found.leaves] == ["worker", "surgeon", "vet"]
    assert [leaf.count.value for leaf in found.leaves if leaf.count] == [0.0, 3.0, 4.0]
    assert (found.depth, found.leaves[0].depth) == (2, 0)


def test_intervals_are_drawn_at_once_since_their_order_is_not_published() -> None:
    assert outline(tree(AGE, (0, 1), (1, 3), (3, 4))) == (AGE.label((0, 4)), ["[0, 10)", "[10, 50]", "(missing)"])


def test_a_column_that_was_published_as_one_value_is_its_own_leaf() -> None:
    assert outline(tree(JOB, (0, 5))) == "any" and tree(JOB, (0, 5)).depth == 0


@cache
def specialized() -> cp.Release:
    return any_release(cases_of("specialization")[0])


def test_a_release_has_a_tree_for_each_column_with_several_values_and_its_counts() -> None:
    release = specialized()
    values = generalized_values(release)
    trees = partition_trees(release, values)
    assert values and list(trees) == list(values)
    assert set(values) == {name for name, runs in release.published.generalized.items() if len(runs) > 1}
    table = release.published.tables[-1]
    for name, one in trees.items():
        counts = table.values.reshape(table.shape(release.published.columns))
        axis = table.columns.index(name)
        sums = counts.sum(axis=tuple(other for other in range(counts.ndim) if other != axis))
        told = [leaf.count for leaf in one.leaves if leaf.count is not None]
        assert len(told) == len(sums)
        for count, sum_ in zip(told, sums.tolist(), strict=True):
            assert abs((count.value or 0.0) - sum_) < 4 * (count.standard_error or 0.0) + 1


def test_the_picture_has_a_dot_a_bar_and_a_number_for_each_published_value() -> None:
    trees = {"job": tree(JOB, (0, 3), (3, 4), (4, 5)), "age": tree(AGE, (0, 1), (1, 3), (3, 4))}
    root = ET.fromstring(str(partition_figure(trees)))
    dots = [element.get("class") for element in root.iter("circle")]
    assert dots.count("leaf") == 6 and dots.count("node") == 3  # both roots, and doctors
    assert len(list(root.iter("path"))) == 4 + 3
    numbers_ = [element.text for element in root.iter("text") if element.get("class") == "number"]
    assert numbers_ == [f"{value} ± 2" for value in (0, 3, 4, 0, 1, 3)]
    # The longest bar has all the room, and others their part of it.
    widths = [float(element.get("width", 0)) for element in root.iter("rect")]
    assert widths == pytest.approx([max(BARS * value / 4, 0.5) for value in (0, 3, 4, 0, 1, 3)], abs=0.01)
    rows = [float(element.get("y", 0)) for element in root.iter("rect")]
    assert rows[1] - rows[0] == rows[2] - rows[1] == ROW
    described = next(element.text for element in root.iter("desc"))
    assert described == "job: worker, surgeon, vet; age: [0, 10), [10, 50], (missing)"
    headings = [element.text for element in root.iter("text") if element.get("class") == "attribute"]
    assert headings == ["job", "age"]  # the column in the place of what all of its values are called


def test_a_long_name_is_shortened_and_whole_beside_it() -> None:
    long = "w" * 80
    domain = CategoricalDomain("job", TaxonomyNode("any", (TaxonomyNode(long), TaxonomyNode("vet"))))
    root = ET.fromstring(str(partition_figure({"job": tree(domain, (0, 1), (1, 2))})))
    label = next(element for element in root.iter("text") if (element.text or "").startswith("www"))
    assert (label.text or "").endswith("…") and len(label.text or "") < 80
    assert [child.text for child in label] == [long]
