"""Names that are imported when they are first used."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from copublish.lazy_names import lazy_names

HOMES = {"fractions": ["Fraction"], "json": ["dumps as to_text", "loads"]}


@pytest.fixture
def module(monkeypatch) -> ModuleType:
    """A public module with three names and a submodule."""
    made = ModuleType("collections_of_names")
    made.__all__ = ["Fraction", "loads", "to_text"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, made.__name__, made)
    made.__getattr__, made.__dir__ = lazy_names(made.__name__, HOMES)  # type: ignore[method-assign, attr-defined]
    return made


def test_a_name_is_imported_at_its_first_use_and_kept(module):
    assert "loads" not in vars(module)
    assert module.loads("[1]") == [1]
    assert vars(module)["loads"] is module.loads


def test_a_name_can_differ_from_the_one_at_its_home(module):
    assert module.to_text([1]) == "[1]"
    with pytest.raises(AttributeError):
        module.dumps  # noqa: B018


def test_an_unknown_name_is_an_attribute_error_that_names_the_module(module):
    with pytest.raises(AttributeError, match="module 'collections_of_names' has no attribute 'load'"):
        module.load  # noqa: B018
    assert not hasattr(module, "load")


def test_dir_lists_public_names_and_submodules():
    assert dir(sys.modules["json"]) != ["decoder"]  # a module lists all it has, unless it says otherwise
    getattribute, list_names = lazy_names("json", {}, ["decoder"])
    assert getattribute("decoder") is sys.modules["json.decoder"]
    assert list_names() == sorted([*sys.modules["json"].__all__, "decoder"])


def test_a_home_that_lacks_the_name_is_an_attribute_error(module):
    getattribute, _ = lazy_names(module.__name__, {"json": ["no_such_name"]})
    with pytest.raises(AttributeError, match="no_such_name"):
        getattribute("no_such_name")
