"""What the architecture promises: one door for secrets, imports in one direction, no seed, no float on secrets."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import copublish

SOURCE = Path(copublish.__file__).parent
ROOT = SOURCE.parent.parent
MODULES = sorted(SOURCE.rglob("*.py"))


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


ALLOWED = {
    # Public configuration and parameters know nothing of rows or shares.
    "agreement": {"agreement", "errors"},
    "privacy": {"privacy", "agreement", "errors"},
    # One party's rows know nothing of engines.
    "fragments": {"fragments", "agreement", "privacy", "errors"},
    "engine": {"engine", "secure", "privacy", "errors", "scratch"},
    "secure": {"secure", "engine", "fragments", "agreement", "privacy", "errors"},
    # The network sees whole runs; nothing below it sees the network.
    "node": {"node", "release", "publication", "engine", "fragments", "mechanisms", "agreement", "privacy", "errors"}
    | {"engines", "home", "scratch"},
    "mechanisms": {"mechanisms", "secure", "engine", "fragments", "agreement", "privacy", "errors"},
    # Evaluation knows released values; a user's test data reach it generalized, through the one module for that.
    "evaluation": {"evaluation", "publication", "generalization", "agreement", "errors"},
    # Planning simulates whole releases, on data that are not private; nothing on the publish path knows of it.
    "planning": {
        *("planning", "evaluation", "generalization", "publication", "simulation", "processes", "release"),
        *("mechanisms", "secure", "engine", "fragments", "agreement", "privacy", "errors"),
    },
}


def forbidden_imports(path: Path) -> set[str]:
    if layer(path) not in ALLOWED:
        return set()
    ours = {name.split(".")[1] for name in imports_of(path) if name.startswith("copublish.")}
    return ours - ALLOWED[layer(path)]


def test_imports_point_one_way():
    assert {str(path): bad for path in MODULES if (bad := forbidden_imports(path))} == {}


def test_the_import_check_can_fail(tmp_path, monkeypatch):
    bad = tmp_path / "privacy" / "peek.py"
    bad.parent.mkdir()
    bad.write_text("from copublish.fragments import Fragment\n")
    monkeypatch.setattr("test_architecture.SOURCE", tmp_path)
    assert forbidden_imports(bad) == {"fragments"}


def importers_of_reproduction(modules: list[Path]) -> set[str]:
    return {path.name for path in modules if re.search("reproduction", "\n".join(import_lines(path)))}


def import_lines(path: Path) -> list[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def test_published_algorithms_are_imported_by_nothing_in_the_package(tmp_path):
    """They are not private, so nothing that publishes may reach them; and the check can fail."""
    assert importers_of_reproduction(MODULES) == set()
    for line in ("from copublish_reproduction.arbdistdp import ArbDistDP", "import copublish_reproduction as papers"):
        (tmp_path / "release.py").write_text(line)
        assert importers_of_reproduction([tmp_path / "release.py"]) == {"release.py"}


def test_the_publish_path_knows_nothing_of_evaluation_and_planning():
    for path in MODULES:
        if layer(path) not in ("evaluation", "planning", "cli"):
            assert not any(re.match(r"copublish\.(evaluation|planning)", name) for name in imports_of(path)), path


def test_only_programs_and_the_gate_touch_what_is_inside_a_secret():
    """`_open` is called by the gate alone, and `_handle` is known to engines alone."""
    callers = {p.relative_to(SOURCE).as_posix() for p in MODULES if re.search(r"\._open\(", p.read_text())}
    assert callers == {"engine/reveal.py"}
    tellers = {p.relative_to(SOURCE).as_posix() for p in MODULES if "join_columns(" in p.read_text()}
    assert tellers == {"engine/reveal.py", "secure/own_columns.py"}
    readers = {p.relative_to(SOURCE).as_posix() for p in MODULES if "._handle" in p.read_text()}
    assert readers <= {"engine/ideal.py", "engine/interface.py", "engine/masked_sum.py", "engine/spu.py"}


def test_the_mechanism_opens_values_through_the_gate_alone():
    found = {
        path.name: calls
        for path in (SOURCE / "mechanisms").glob("*.py")
        if (calls := re.findall(r"\w+\.reveal_\w+\(", path.read_text()))
    }
    measure, select = "gate.reveal_measurement(", "gate.reveal_selection("
    own = {
        "allocation.py": [measure],
        "hpdp.py": ["gate.reveal_gaussian_measurement(", measure],  # one of them, by the agreed noise
        "vhdp.py": ["gate.reveal_columns("],
        "idp_ir.py": ["gate.reveal_columns("],
    }
    assert found == {"specialization.py": [measure, select, measure], "copula.py": [measure, measure]} | own


def test_randomness_comes_from_the_operating_system_alone():
    """Made-up data, classifiers and trials are the exceptions: they are no release."""
    for path in MODULES:
        if path.name != "demo.py" and layer(path) not in ("evaluation", "planning"):
            text = path.read_text()
            assert "np.random" not in text, path
            assert not imports_of(path) & {"random", "secrets", "numpy.random"}, path
            assert "seed" not in re.sub(r'""".*?"""|#.*', "", text, flags=re.S), path


def test_programs_on_secrets_use_no_floats_and_no_library_maximum():
    local = ("exact_coins.py", "noise_shares.py")
    for name in ("noise.py", "scores.py", "joint_counts.py", "packing.py", "products.py", *local):
        tree = ast.parse((SOURCE / "secure" / name).read_text())
        for node in ast.walk(tree):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), name
            assert not isinstance(node, ast.Div) or name == "exact_coins.py", name  # it divides fractions, exactly
            if isinstance(node, ast.Attribute):
                assert node.attr not in {"max", "argmax", "min", "argmin", "maximum", "exp", "log", "float64"}, name


def test_spu_is_loaded_by_its_worker_alone():
    loaders = {p.name for p in MODULES if {name.split(".")[0] for name in imports_of(p)} & {"spu", "jax"}}
    assert loaders == {"spu_worker.py"}


def test_nothing_shipped_names_a_registry_or_this_machine():
    shipped = [*MODULES, *ROOT.glob("*.toml"), *ROOT.glob("*.txt"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    shipped += [path for ending in ("py", "toml", "md") for path in (ROOT / "reproduction").rglob(f"*.{ending}")]
    for path in shipped:
        assert not re.search(r"index.url|//\S+/simple\b|/(root|home)/", path.read_text()), path


def test_public_names_are_listed_and_importable():
    assert sorted(copublish.__all__) == list(copublish.__all__)
    for name in copublish.__all__:
        assert getattr(copublish, name).__doc__, f"{name} has no docstring"
    with pytest.raises(AttributeError):
        copublish.no_such_name  # noqa: B018


def test_importing_the_package_loads_no_data_library_and_does_nothing():
    code = "import sys, copublish, copublish.secure.noise; print(*{'pandas', 'polars', 'ibis'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == ""


def test_the_architecture_page_names_every_top_module_and_no_module_that_is_not_there():
    page = (ROOT / "docs" / "architecture.md").read_text()
    top = {f"{path.name}/" for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    top |= {path.name for path in SOURCE.glob("*.py") if not path.name.startswith("__")}
    assert {name for name in top if f"`{name}`" not in page} == set()
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", page)) - {"tests/docs/test_architecture.py"}
    files = [path.as_posix() for path in MODULES]
    assert {name for name in named if not any(file.endswith(f"/{name}") for file in files)} == set()


def test_every_decision_is_numbered_and_every_promised_page_is_there():
    docs = ROOT / "docs"
    for page in ("architecture", "privacy-promise", "known-limits", "reference/agreement", "reference/exit-codes"):
        assert (docs / f"{page}.md").exists(), page
    numbers = [path.name[:4] for path in sorted((docs / "decisions").glob("*.md"))]
    assert numbers == [f"{number:04d}" for number in range(1, len(numbers) + 1)]
