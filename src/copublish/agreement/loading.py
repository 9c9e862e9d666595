"""Reading agreement files, and telling people what is wrong with them in words they can act on."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from copublish.agreement.model import (
    Agreement,
    CategoricalAttribute,
    ClassAttribute,
    Grid,
    Mechanism,
    NumericalAttribute,
    Party,
    Privacy,
    Records,
)
from copublish.errors import AgreementError


def load_agreement(path: str | Path) -> Agreement:
    """Read and check an agreement; taxonomy files are looked up beside it.

    Raises:
        AgreementError: With one sentence for every problem found.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as exc:
        hint = f"no such file. 'copublish init {path.name}' writes one to start from"
        raise AgreementError(str(path), [hint]) from exc
    except (OSError, UnicodeDecodeError) as exc:
        raise AgreementError(str(path), [f"cannot be read as UTF-8 text: {exc}"]) from exc
    try:
        content = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as exc:
        raise AgreementError(str(path), [f'not valid TOML: {exc}. Strings need quotes: "bank"']) from exc
    except (ValueError, ArithmeticError, RecursionError) as exc:
        raise AgreementError(str(path), ["has a number or a nesting that is too large to read"]) from exc
    return agreement_from_mapping(content, folder=path.parent, source=str(path))


def agreement_from_mapping(
    content: Mapping[str, Any], *, folder: str | Path = ".", source: str = "The agreement"
) -> Agreement:
    """Check an agreement given as nested mappings, with the keys of `agreement.toml`.

    Args:
        content: The agreement.
        folder: Where taxonomy files are looked up.
        source: How error messages name the agreement.

    Raises:
        AgreementError: With one sentence for every problem found.
    """
    content, problems = _with_taxonomies(content, Path(folder))
    try:
        agreement = Agreement.model_validate(content)
    except RecursionError:
        problems.append("the agreement is nested too deeply")
    except ValidationError as exc:
        problems += [line for error in exc.errors() for line in _sentences(error)]
    if problems:
        raise AgreementError(source, list(dict.fromkeys(problems)))
    return agreement


def _with_taxonomies(content: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Replace names of taxonomy files by the trees in them, so that the hash covers the trees."""
    resolved, problems = dict(content), []
    attributes = content.get("attributes")
    if not isinstance(attributes, Mapping):
        return resolved, []
    resolved["attributes"] = dict(attributes)
    for name, attribute in attributes.items():
        if isinstance(attribute, Mapping) and isinstance(attribute.get("taxonomy"), str):
            try:
                tree = _read_tree(folder / attribute["taxonomy"], name)
            except ValueError as exc:
                problems.append(f"attributes.{name}.taxonomy: {exc}")
                tree = {"ANY": {"placeholder": {}}}  # so that the other checks still run
            resolved["attributes"][name] = {**attribute, "taxonomy": tree}
    return resolved, problems


def _read_tree(path: Path, attribute: str) -> Any:
    try:
        trees = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"there is no file '{path.name}' beside the agreement") from None
    except (OSError, ValueError, RecursionError) as exc:
        raise ValueError(f"'{path.name}' is not a JSON file: {exc}") from exc
    if not isinstance(trees, dict) or attribute not in trees:
        raise ValueError(f"'{path.name}' has no tree under the name '{attribute}'")
    return trees[attribute]


MODELS: dict[str, type[BaseModel]] = {
    "": Agreement,
    "records": Records,
    "class": ClassAttribute,
    "privacy": Privacy,
    "mechanism": Mechanism,
    "parties": Party,
    "grid": Grid,
    "categorical": CategoricalAttribute,
    "numerical": NumericalAttribute,
}


def _sentences(error: ErrorDetails) -> list[str]:
    """Turn one pydantic error into sentences: where, what is wrong, what to write."""
    steps = [str(step) for step in error["loc"]]
    place = ".".join(step for step in steps if step not in ("categorical", "numerical", "[key]"))
    given, kind, context = error["input"], error["type"], error.get("ctx", {})
    if kind == "missing":
        owner = ".".join(place.split(".")[:-1])
        return [f"{owner or 'the agreement'}: '{steps[-1]}' is missing{_example(steps)}"]
    if kind == "extra_forbidden":
        return [f"{place}: there is no such key{_suggestion(steps)}"]
    if kind in ("literal_error", "union_tag_invalid"):
        allowed = context.get("expected") or context.get("expected_tags")
        shown = context.get("tag", given)
        key = place if kind == "literal_error" else f"{place}.kind"
        return [f"{key}: {shown!r} is not one of {allowed}"]
    if kind == "union_tag_not_found":
        return [f'{place}: \'kind\' is missing. Write kind = "categorical" or kind = "numerical"']
    if kind == "value_error":
        text = str(context.get("error", error["msg"]))
        lines = text.split("\n")
        return [f"{place}: {line}" if place else line for line in lines]
    if kind == "string_type":
        return [f'{place}: expected text in quotes, got {given!r}. Write "{given}"']
    if kind in ("bool_type", "bool_parsing"):
        return [f"{place}: write true or false, without quotes, got {given!r}"]
    if kind == "string_pattern_mismatch":
        return [f"{place}: use letters, digits, '.', '_' and '-' only, got {given!r}"]
    if kind == "too_short":
        return [f"{place}: needs at least {context.get('min_length')} of them, got {context.get('actual_length')}"]
    return [f"{place or 'the agreement'}: {error['msg'].lower()}, got {given!r}"]


EXAMPLES = {
    "epsilon": ", like epsilon = 1.0",
    "bounds": ", like bounds = [0, 120]; take them from public knowledge, not from the data",
    "grid": ", like grid = { step = 5 }: the public points where the attribute may be split",
    "expected": ": a public estimate of how many records there are, like expected = 20000",
    "values": ', like values = ["no", "yes"]',
    "partition": ', like partition = "vertical" ("horizontal", "vertical" or "arbitrary")',
    "parties": ": a table per organisation, like [parties.bank]",
    "format": ": write format = 1 at the top",
    "dataset": ": the name under which the ledgers count what was spent on these data",
}


def _example(steps: list[str]) -> str:
    return EXAMPLES.get(steps[-1], "")


def _suggestion(steps: list[str]) -> str:
    parents = [step for step in reversed(steps[:-1]) if step in MODELS] + [""]
    model = MODELS[parents[0]]
    known = [field.alias or name for name, field in model.model_fields.items()]
    close = difflib.get_close_matches(steps[-1], known, n=1)
    return f"; did you mean '{close[0]}'?" if close else f". Keys allowed here: {', '.join(known)}"
