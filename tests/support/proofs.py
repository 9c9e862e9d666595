"""Proofs beside code: which functions the documents in docs/proofs speak of, and whether those are what was read.

A document begins with a block that names functions and constants, each with a fingerprint of its source. Somebody who
changes one of them reads the proof again, mends it if need be, and writes the new fingerprints:

    .venv/bin/python tests/support/proofs.py --update selection

Without an option it lists what has changed. Docstrings, comments and layout do not count.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
FOLDER = ROOT / "docs" / "proofs"
DIGITS = 12

INDEX = "<!-- by tests/support/proofs.py -->\n"
"""After it the index is written by this module."""

SENSITIVITIES = {"score_range", "l1_sensitivity", "squared_l2_sensitivity"}
"""Arguments that say how far one person moves something."""

PRICES = {"noise", "response", "epsilon", "rho", "delta", "agreed_rho", "delta_without_sampler", "let_pass"}
"""What a disclosure, or a budget that several share, says of its law and its price."""

DISCLOSURES = tuple(f"copublish.kernel.accounting.{name}" for name in ("disclosures", "perturbations", "concentrated"))

Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Proof:
    """The front block of a document.

    Attributes:
        name: Of the file, without its ending.
        statement: What is proved, in a line.
        proved: Fingerprint by the name of a function or constant, written module:qualified.name.
        tests: What checks it, as pytest names it.
    """

    name: str
    statement: str
    proved: dict[str, str]
    tests: tuple[str, ...]


def documents(folder: Path = FOLDER) -> list[Path]:
    """Every proof; the index is none."""
    return sorted(path for path in folder.glob("*.md") if path.name != "README.md")


def read(path: Path) -> Proof:
    """The front block of a document.

    Raises:
        ValueError: If it has none, or another form.
    """
    found = re.match(r"---\nstatement: (.+)\nproves:\n((?:- .+\n)+)checked-by:\n((?:- .+\n)+)---\n", path.read_text())
    if found is None:
        raise ValueError(f"{path.name} has no block with statement, proves and checked-by in front")
    statement, proved, tests = found.groups()
    lines = [line.removeprefix("- ").split(" ") for line in proved.splitlines()]
    return Proof(
        path.stem,
        statement,
        {line[0]: line[1] if len(line) > 1 else "" for line in lines},
        tuple(line.removeprefix("- ") for line in tests.splitlines()),
    )


def fingerprint(name: str, source: Path = SOURCE) -> str:
    """Fingerprint of a function, class or constant: of what it does, not of how it is described or laid out.

    Raises:
        LookupError: If there is no such thing.
    """
    module, _, qualified = name.partition(":")
    path = source / Path(*module.split(".")).with_suffix(".py")
    if not path.is_file():
        raise LookupError(f"there is no module {module}")
    found = _definition(_without_words(path), qualified.split("."))
    if found is None:
        raise LookupError(f"there is no {qualified} in {module}")
    return hashlib.sha256(ast.dump(found).encode()).hexdigest()[:DIGITS]


@cache
def _without_words(path: Path) -> ast.Module:
    """A module without docstrings and the like."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [part for part in body if not _is_words(part)]  # type: ignore[attr-defined]
    return tree


def _is_words(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _definition(scope: ast.AST, names: list[str]) -> Definition | None:
    for node in getattr(scope, "body", []):
        if names[0] in _names_of(node):
            return node if len(names) == 1 else _definition(node, names[1:])
    return None


def _names_of(node: ast.AST) -> set[str]:
    """Names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def changed(proof: Proof, source: Path = SOURCE) -> list[str]:
    """A sentence for everything that is not as it was when the proof was read."""
    found = []
    for name, known in proof.proved.items():
        try:
            if fingerprint(name, source) != known:
                found.append(
                    f"{name} changed since its proof was read: read docs/proofs/{proof.name}.md again, mend it if need "
                    f"be, then run `python tests/support/proofs.py --update {proof.name}`"
                )
        except LookupError as exc:
            found.append(f"docs/proofs/{proof.name}.md speaks of {name}, but {exc}")
    return found


def missing_tests(proof: Proof, root: Path = ROOT) -> list[str]:
    """Tests that a document names and that are not there."""
    found = []
    for test in proof.tests:
        file, _, function = test.partition("::")
        path = root / file
        if not path.is_file() or not re.search(rf"^def {re.escape(function)}\(", path.read_text(), re.M):
            found.append(test)
    return found


def to_be_proved(source: Path = SOURCE) -> set[str]:
    """Whatever states how far one person moves something, or what a disclosure costs, by name."""
    found = set()
    for path in sorted((source / "copublish").rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for qualified, node in _definitions(_without_words(path)):
            if _states_influence(node) or (module in DISCLOSURES and _is_price(qualified, node)):
                found.add(f"{module}:{qualified}")
    return found


def _definitions(scope: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Functions and constants, those of classes with the class in front; protocols are left out."""
    for node in getattr(scope, "body", []):
        if isinstance(node, ast.ClassDef):
            if not any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
                yield from _definitions(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.Assign | ast.AnnAssign):
            for name in sorted(_names_of(node)):
                yield prefix + name, node


def _states_influence(node: Definition) -> bool:
    """Whether something hands a sensitivity to a disclosure or to a score, is one, or returns one."""
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    hands_on = any(keyword.arg in SENSITIVITIES for call in calls for keyword in call.keywords)
    is_constant = isinstance(node, ast.AnnAssign) and node.value is not None and _is_influence(node.annotation)
    returns = isinstance(node, ast.FunctionDef) and node.returns is not None and _is_influence(node.returns)
    return hands_on or is_constant or returns


def _is_influence(annotation: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) and part.id == "Influence" for part in ast.walk(annotation))


def _is_price(qualified: str, node: Definition) -> bool:
    return isinstance(node, ast.FunctionDef) and "." in qualified and node.name in PRICES


def index_of(proofs: list[Proof]) -> str:
    """The table of all proofs, as it stands in the README of the folder."""
    rows = ["| statement | proof | of | checked by |", "| --- | --- | --- | --- |"]
    for proof in proofs:
        owners = dict.fromkeys(name.partition(":")[2].split(".")[0] for name in proof.proved)
        files = dict.fromkeys(Path(test.partition("::")[0]).name for test in proof.tests)
        of, by = (", ".join(f"`{name}`" for name in names) for names in (owners, files))
        rows.append(f"| {proof.statement} | [{proof.name}]({proof.name}.md) | {of} | {by} |")
    return "\n".join(rows) + "\n"


def update(path: Path, source: Path = SOURCE) -> None:
    """Write the present fingerprints into a document."""
    text = path.read_text()
    for name in read(path).proved:
        text = re.sub(rf"^- {re.escape(name)}( \w*)?$", f"- {name} {fingerprint(name, source)}", text, flags=re.M)
    path.write_text(text)


def update_index(folder: Path = FOLDER) -> None:
    """Write the table into the README of the folder."""
    page = folder / "README.md"
    before = page.read_text().partition(INDEX)[0]
    page.write_text(before + INDEX + index_of([read(path) for path in documents(folder)]))


def main() -> int:
    """List what changed, or write that proofs were read again."""
    parser = argparse.ArgumentParser(description="Proofs that code has moved away from.")
    parser.add_argument("--update", nargs="+", metavar="PROOF", default=[], help="proofs that were read again")
    for name in parser.parse_args().update:
        update(FOLDER / f"{name}.md")
    update_index()
    problems = [problem for path in documents() for problem in changed(read(path))]
    print("\n".join(problems) or "All proofs speak of the code as it is.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
