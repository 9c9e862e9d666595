"""What the architecture promises: one door for secrets, imports in one direction, no seed, no float on secrets."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path

import pytest

import copublish
from copublish.mechanisms.registry import mechanism_named, mechanisms

SOURCE = Path(copublish.__file__).parent
ROOT = SOURCE.parent.parent
MODULES = sorted(SOURCE.rglob("*.py"))

LOOSE = {"__init__", "__main__", "errors", "types", "progress"}
"""Modules beside the packages."""

BASE = {"errors", "types", "progress", "protocol"}
"""Any module may know these; the protocol is a table of messages and imports errors alone."""

ALLOWED = {
    "files": {"files"},
    "protocol": set(),
    # Public configuration and parameters know nothing of rows or shares.
    # Both open files that others prepared, as `files` opens them.
    "agreement": {"agreement", "files"},
    "privacy": {"privacy", "agreement"},
    # Signed statements know the agreement and the party's key; ledgers keep them without looking inside.
    "evidence": {"evidence", "agreement", "files"},
    # One party's rows know nothing of engines.
    "fragments": {"fragments", "agreement", "privacy", "files"},
    "engine": {"engine", "privacy", "files"},
    # What released values tell, and how far noise moved it: no rows, no shares, no mechanism.
    "reading": {"reading", "agreement", "privacy"},
    "mechanisms": {"mechanisms", "engine", "fragments", "agreement", "privacy", "reading"},
    # Drafts know names and types of columns, and what an owner has confirmed; the rows stay behind `fragments`.
    "drafting": {"drafting", "mechanisms", "fragments", "agreement", "files"},
    "release": {"release", "reading", "mechanisms", "engine", "fragments", "agreement", "privacy", "evidence", "files"},
    # All parties on one machine.
    "local": {"local", "drafting", "release", "mechanisms", "engine", "fragments", "agreement", "privacy", "files"},
    # The network sees whole runs; nothing below it sees the network.
    "node": {"node", "local", "release", "mechanisms", "engine", "fragments", "agreement", "privacy"}
    | {"evidence", "files"},
    # A run in a process of its own: started, seen by its files, and stopped. Jobs call public names.
    "running": {"running", "node", "release", "fragments", "agreement", "privacy", "evidence", "files"},
    # Evaluation knows released values; a user's test data reach it through the one module for that.
    "evaluation": {"evaluation", "reading", "evidence", "release", "mechanisms", "fragments", "agreement", "privacy"},
    # Planning simulates whole releases, on data that are not private; nothing on the publish path knows of it.
    # Links that were measured lie in the party's own folder.
    "planning": {"planning", "evaluation", "local", "release", "mechanisms", "engine", "fragments", "agreement"}
    | {"files"},
    # Audits play whole runs on made-up tables; nothing on the publish path knows of them.
    "auditing": {"auditing", "local", "release", "mechanisms", "engine", "fragments", "agreement", "privacy"}
    | {"files"},
    # The page does what the public names do, so it knows no other module.
    "studio": {"studio"},
    "cli": {
        "cli",
        "studio",
        "running",
        "drafting",
        "auditing",
        "planning",
        "evaluation",
        "node",
        "local",
        "release",
        "mechanisms",
        "fragments",
        "agreement",
    }
    | {"privacy", "evidence", "files"},
}
"""For every package the packages that it may import; a package that is not listed here fails the test."""

SEES_ROWS = ("copublish.rows", "copublish.kernel.records.joint_table", "copublish.mechanisms.shared.run_")
SEES_SECRETS = tuple(f"copublish.engines.{name}" for name in ("interface", "reveal", "secret", "counts"))
MAY_SEE = re.compile(r"run(_\w+)?\.py")
"""Files of a mechanism that may see rows and secrets: by their name."""


@cache
def imports_of(path: Path, *, typing_too: bool = False) -> frozenset[str]:
    """What a module imports; what it imports for the type checker alone is left out unless asked for."""
    found: set[str] = set()
    for node in _statements(ast.parse(path.read_text()), typing_too=typing_too):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def _statements(tree: ast.AST, *, typing_too: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        is_typing = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        if typing_too or not is_typing:
            yield node
            yield from _statements(node, typing_too=typing_too)


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def packages_of(names: Set[str]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith("copublish.")}


def forbidden_imports(path: Path) -> set[str]:
    if layer(path) in ("__init__", "__main__"):
        return set()  # the public names, loaded when they are used, and the command line
    allowed = ALLOWED.get(layer(path), set()) | BASE
    return packages_of(imports_of(path, typing_too=True)) - allowed


def test_imports_point_one_way_for_every_module():
    assert {str(path): bad for path in MODULES if (bad := forbidden_imports(path))} == {}


def test_there_is_no_module_outside_the_rooms():
    assert {layer(path) for path in MODULES} == LOOSE | ALLOWED.keys()


def test_the_import_check_can_fail(tmp_path, monkeypatch):
    bad = tmp_path / "privacy" / "peek.py"
    bad.parent.mkdir()
    bad.write_text("from copublish.kernel.records import fragment\n")
    monkeypatch.setattr("test_architecture.SOURCE", tmp_path)
    assert forbidden_imports(bad) == {"fragments"}
    (tmp_path / "loose.py").write_text("from copublish.kernel.secrets import gate as reveal\n")
    assert forbidden_imports(tmp_path / "loose.py") == {"engine"}


def package_cycles() -> list[tuple[str, str]]:
    """Pairs of packages that import each other, what is imported inside functions included."""
    edges = {(layer(path), other) for path in MODULES for other in packages_of(imports_of(path))}
    return sorted((a, b) for a, b in edges if a < b and (b, a) in edges)


def test_no_two_packages_import_each_other():
    assert package_cycles() == []


def reach(path: Path) -> set[str]:
    """What a file of a mechanism imports of rows and secrets."""
    module = path.relative_to(SOURCE.parent).with_suffix("").as_posix().replace("/", ".")
    own_run = module.rpartition(".")[0] + ".run"
    names = {name for name in imports_of(path) if name.startswith((*SEES_ROWS, *SEES_SECRETS))}
    names |= {name for name in imports_of(path) if re.search(r"\.run(_\w+)?(\.|$)", name)}
    if path.name == "plan.py":  # its method `run` hands over to run.py, and does nothing else with it
        names = {name for name in names if not name.startswith(own_run)}
    return names


def test_in_a_mechanism_only_files_named_run_see_rows_and_secrets():
    folders = [path for path in (SOURCE / "mechanisms").rglob("*.py") if path.parent.name != "mechanisms"]
    others = [path for path in folders if not MAY_SEE.fullmatch(path.name) and path.name != "joint_table.py"]
    assert {str(path.relative_to(SOURCE)): bad for path in others if (bad := reach(path))} == {
        # It checks what an owner alone can see of its records, by a function of run.py.
        "mechanisms/idp_ir/__init__.py": {
            "copublish.mechanisms.idp_ir.run",
            "copublish.mechanisms.idp_ir.run.refuse_unfit_clusters",
        },
        # A plan around any mechanism's plan: its method `run` hands over, and does nothing else with it.
        "mechanisms/shared/class_disagreement.py": {
            "copublish.mechanisms.shared.run_class_disagreement",
            "copublish.mechanisms.shared.run_class_disagreement.run_class_disagreement",
        },
    }


def test_a_plan_takes_nothing_from_its_run_but_the_function_that_runs_it():
    for path in (SOURCE / "mechanisms").glob("*/plan.py"):
        tree = ast.parse(path.read_text())
        top = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        assert not any(re.search(r"\.run(_\w+)?$", name or "") for name in top), path
        inner = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(f"{path.parent.name}.run")
        ]
        assert [[alias.name for alias in node.names] for node in inner] == [[f"run_{path.parent.name}"]], path


def test_the_check_of_file_names_can_fail(tmp_path, monkeypatch):
    bad = tmp_path / "mechanisms" / "toy" / "publish.py"
    bad.parent.mkdir(parents=True)
    bad.write_text(
        "from copublish.kernel.records.fragment import Fragment\nfrom copublish.mechanisms.toy.run import peek\n"
    )
    monkeypatch.setattr("test_architecture.SOURCE", tmp_path)
    assert {name.split(".")[1] for name in reach(bad)} == {"fragments", "mechanisms"}


def names_in(path: Path, words: tuple[str, ...]) -> bool:
    return any(word in path.read_text(encoding="utf-8") for word in words)


# Not "marginals": marginals of a table are spoken of everywhere. Its folder is imported by the registry alone.
@pytest.mark.parametrize("name", ["specialization", "copula", "hpdp", "vhdp", "idp-ir"])
def test_a_mechanism_is_named_in_its_folder_and_in_the_registry_alone(name):
    mechanism = mechanism_named(name)
    folder = mechanism.name.replace("-", "_")
    words = tuple({*mechanism.settings.names(), folder})
    files = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".j2", ".css")]
    named = {path.relative_to(SOURCE).as_posix() for path in files if names_in(path, words)}
    assert {path for path in named if not path.startswith(f"mechanisms/{folder}/")} == {"mechanisms/registry.py"}


@pytest.mark.parametrize("folder", [path.parent.name for path in (SOURCE / "mechanisms").glob("*/settings.py")])
def test_a_mechanisms_folder_is_imported_by_itself_and_the_registry_alone(folder):
    importers = {
        path.relative_to(SOURCE).as_posix()
        for path in MODULES
        if any(name.startswith(f"copublish.mechanisms.{folder}") for name in imports_of(path, typing_too=True))
    }
    assert {path for path in importers if not path.startswith(f"mechanisms/{folder}/")} == {"mechanisms/registry.py"}


def test_every_folder_is_in_the_registry():
    folders = {path.parent.name for path in (SOURCE / "mechanisms").glob("*/settings.py")}
    shipped = [known for known in mechanisms() if type(known).__module__.startswith("copublish.")]
    assert {known.name.replace("-", "_") for known in shipped} == folders


def test_the_publish_path_knows_nothing_of_evaluation_and_planning():
    for path in MODULES:
        if layer(path) not in ("auditing", "evaluation", "planning", "cli", "studio", "__init__"):
            names = imports_of(path, typing_too=True)
            assert not any(re.match(r"copublish\.(auditing|evaluation|planning|studio)", name) for name in names), path


def not_public(path: Path) -> set[str]:
    """What a module imports of copublish that is neither a public name nor the page's own."""
    names = {name for name in imports_of(path, typing_too=True) if name.split(".")[0] == "copublish"}
    return {name for name in names - {"copublish"} if not name.startswith("copublish.studio")}


def test_the_page_imports_public_names_alone():
    pages = [path for path in MODULES if layer(path) == "studio"]
    assert len(pages) > 10
    assert {str(path): bad for path in pages if (bad := not_public(path))} == {}


def test_the_check_of_the_page_can_fail(tmp_path):
    bad = tmp_path / "peek.py"
    bad.write_text("import copublish as cp\nfrom copublish.errors import CopublishError\n")
    assert not_public(bad) == {"copublish.errors", "copublish.errors.CopublishError"}


def test_published_algorithms_stay_off_the_publish_path():
    """They are not private, and live in a distribution of their own that nothing here imports."""
    for path in MODULES:
        assert not any("reproduction" in name for name in imports_of(path, typing_too=True)), path
    assert not (SOURCE / "reproduction").exists()


def test_only_programs_and_the_gate_touch_what_is_inside_a_secret():
    """`_open` is called by the gate alone, and `_handle` is known to engines alone."""
    callers = {p.relative_to(SOURCE).as_posix() for p in MODULES if re.search(r"\._open\(", p.read_text())}
    assert callers == {"kernel/secrets/gate.py"}
    tellers = {p.relative_to(SOURCE).as_posix() for p in MODULES if "join_columns(" in p.read_text()}
    assert tellers == {"kernel/secrets/gate.py", "kernel/secrets/own_columns.py"}
    readers = {p.relative_to(SOURCE).as_posix() for p in MODULES if "._handle" in p.read_text()}
    own = {
        "engines/ideal.py",
        "kernel/secrets/secret.py",
        "engines/masked_sums/engine.py",
        "engines/spu/engine.py",
        "engines/spu/shares.py",
        "engines/spu/node.py",
    }
    assert readers <= own


def test_programs_on_secrets_know_numbers_alone():
    for path in (SOURCE / "engine" / "programs").glob("*.py"):
        ours = {name for name in imports_of(path) if name.startswith("copublish.")}
        assert all(re.match(r"copublish\.(engine\.programs|types|privacy\.geometric)", name) for name in ours), path


def test_mechanisms_open_values_through_the_gate_alone():
    found = {
        path.relative_to(SOURCE / "mechanisms").as_posix(): calls
        for path in (SOURCE / "mechanisms").rglob("*.py")
        if (calls := re.findall(r"\w+\.reveal_\w+\(", path.read_text()))
    }
    measure, select = "gate.reveal_measurement(", "gate.reveal_selection("
    assert found == {
        "specialization/run.py": [measure, select, measure],
        "copula/run.py": [measure, measure],
        "shared/run_gains.py": [measure],
        "shared/run_class_disagreement.py": [measure],
        "hpdp/run.py": ["gate.reveal_gaussian_measurement(", measure],  # one of them, by the agreed noise
        "marginals/run.py": ["gate.reveal_gaussian_measurement(", measure, select],  # a table is one of the first two
        "vhdp/run.py": ["gate.reveal_columns("],
        "idp_ir/run.py": ["gate.reveal_columns("],
    }


def test_randomness_comes_from_the_operating_system_alone():
    """Made-up data and classifiers are the exceptions: they are no release."""
    for path in MODULES:
        if path.name != "demo.py" and layer(path) not in ("evaluation", "planning"):
            text = path.read_text()
            assert "np.random" not in text, path
            assert not imports_of(path) & {"random", "secrets", "numpy.random"}, path
            assert "seed" not in re.sub(r'""".*?"""|#.*', "", text, flags=re.S), path


ON_SECRETS = (
    *("kernel/programs/noise.py", "kernel/programs/packing.py", "kernel/programs/packing.py"),
    *("mechanisms/specialization/score_programs.py", "mechanisms/copula/run_products.py"),
    *("mechanisms/marginals/run_tables.py", "mechanisms/marginals/run_tables.py"),
    *("kernel/records/joint_table.py", "kernel/noise/laplace_shares.py", "kernel/noise/laplace_shares.py"),
)


@pytest.mark.parametrize("name", ON_SECRETS)
def test_programs_on_secrets_use_no_floats_and_no_library_maximum(name):
    for node in ast.walk(ast.parse((SOURCE / name).read_text())):
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        assert not isinstance(node, ast.Div) or name.endswith("exact_coins.py")  # it divides fractions, exactly
        if isinstance(node, ast.Attribute):
            assert node.attr not in {"max", "argmax", "min", "argmin", "maximum", "exp", "log", "float64"}


def test_spu_is_loaded_by_its_worker_alone():
    loaders = {
        p.relative_to(SOURCE).as_posix()
        for p in MODULES
        if {name.split(".")[0] for name in imports_of(p)} & {"spu", "jax"}
    }
    parts = {"compiling", "intersection", "runtime"}
    assert loaders == {f"engine/spu/{name}.py" for name in (*parts, "worker")}
    importers = {p.name for p in MODULES if imports_of(p) & {f"copublish.engines.spu.{name}" for name in parts}}
    assert importers == {"worker.py"}


def test_nothing_shipped_names_a_registry_or_this_machine():
    shipped = [*MODULES, *ROOT.glob("*.toml"), *ROOT.glob("*.txt"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for path in shipped:
        assert not re.search(r"index.url|//\S+/simple\b|/(root|home)/", path.read_text()), path


def test_importing_the_package_loads_no_data_library_and_does_nothing():
    libraries = "{'pandas', 'polars', 'ibis'}"
    code = f"import sys, copublish, copublish.mechanisms.registry; print(*{libraries} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == ""


def test_the_architecture_page_names_every_package_and_no_module_that_is_not_there():
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
