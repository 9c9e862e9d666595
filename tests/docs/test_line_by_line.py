"""The page that goes through the five papers line by line: every reference on it leads to something."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results" / "line-by-line.md"
SHORT = {"R/": "reproduction/src/copublish_reproduction/", "T/": "reproduction/tests/", "C/": "src/copublish/"}
STATES = ("as printed", "sounder", "in the reproduction only")
PAPERS = ("DistDiffGen", "ArbDistDP", "iDP-IR", "HPDP-DP", "VHDP")


def rows_of(section: str) -> list[list[str]]:
    """The cells of a section's table, without header and rule."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def sections_of(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def references_of(text: str) -> list[str]:
    """Everything in backticks that names a file."""
    found = re.findall(r"`([^`\s]+\.(?:py|md|csv)(?:::\w+)?)`", text)
    return list(dict.fromkeys(found))


def names_in(file: Path) -> set[str]:
    """Functions, classes and constants at the top of a Python file."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def broken(reference: str) -> bool:
    """Whether a reference leads to nothing."""
    path, _, name = reference.partition("::")
    for short, whole in SHORT.items():
        path = whole + path.removeprefix(short) if path.startswith(short) else path
    file = ROOT / path
    return not file.is_file() or bool(name and name not in names_in(file))


def test_every_reference_leads_to_a_file_and_to_a_name_in_it() -> None:
    references = references_of(PAGE.read_text(encoding="utf-8"))
    assert len(references) > 100
    assert [reference for reference in references if broken(reference)] == []


def test_the_check_of_references_can_fail() -> None:
    assert not broken("R/selection.py::draw")
    assert broken("R/selection.py::drawn")
    assert broken("R/selections.py")
    assert not broken("docs/results/costs.md")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_has_its_place_and_its_state(paper: str) -> None:
    rows = rows_of(sections_of(PAGE.read_text(encoding="utf-8"))[paper])
    assert len(rows) > 20
    for what, printed, where, state in rows:
        assert what and printed
        assert references_of(where), what
        assert state.startswith(STATES), what
        if state.startswith("in the reproduction only"):
            assert ": " in state, f"{what}: say why"


def test_every_algorithm_theorem_figure_and_table_of_the_papers_has_a_row() -> None:
    """How many each paper has, counted in the papers."""
    sections = sections_of(PAGE.read_text(encoding="utf-8"))
    counts = {
        "DistDiffGen": {"Algorithm": 3, "Figure": 4, "Table": 4, "Example": 5},
        "ArbDistDP": {"Algorithm": 5, "Figure": 9, "Table": 4, "Example": 8, "Theorem": 3},
        "iDP-IR": {"Algorithm": 1, "Figure": 6, "Theorem": 2, "Definition": 4},
        "HPDP-DP": {"Algorithm": 1, "Figure": 5, "Theorem": 5, "Definition": 3},
        "VHDP": {"Algorithm": 3, "Figure": 12, "Table": 1, "Theorem": 2, "Definition": 14},
    }
    for paper, kinds in counts.items():
        named = " ".join(row[0] + " " + row[1] for row in rows_of(sections[paper]))
        for kind, most in kinds.items():
            assert numbers_of(kind, named) >= set(range(1, most + 1)), (paper, kind)


def numbers_of(kind: str, text: str) -> set[int]:
    """Numbers after `Figure`, `Figures 5 and 6` or `Definitions 9 to 11`."""
    found: set[int] = set()
    for group in re.findall(rf"{kind}s? (\d+(?:(?:, | and | to )\d+)*)", text):
        ends = [int(number) for number in re.findall(r"\d+", group)]
        found |= set(range(ends[0], ends[-1] + 1)) if " to " in group else set(ends)
    return found


def test_numbers_are_read_from_lists_and_ranges() -> None:
    assert numbers_of("Figure", "Figures 2, 3 and 4, Figure 7; Figures 9 to 11") == {2, 3, 4, 7, 9, 10, 11}


def test_the_map_has_every_sub_protocol() -> None:
    section = sections_of(PAGE.read_text(encoding="utf-8"))["Printed sub-protocols, and what runs here"]
    names = " ".join(row[0] for row in rows_of(section))
    for protocol in ("RVP", "SCP", "SDPP", "SSPP", "DistExp", "Paillier", "theta"):
        assert protocol in names
    assert all(references_of(row[3]) for row in rows_of(section))
