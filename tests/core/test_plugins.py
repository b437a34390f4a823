"""Your own code by its address: `module:name`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sfumato.core.errors import InvalidInput, SfumatoError
from sfumato.core.plugins import load_object


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of someone who has modules of their own in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_an_installed_name_is_loaded() -> None:
    assert load_object("sfumato.core.errors:SfumatoError", "an error") is SfumatoError


def test_a_name_inside_a_class_is_loaded() -> None:
    assert load_object("pathlib:Path.home", "a function") == Path.home


def test_a_module_of_the_current_folder_is_loaded(own_folder: Path) -> None:
    (own_folder / "my_own_blur.py").write_text("ANSWER = 42\n")
    assert load_object("my_own_blur:ANSWER", "a number") == 42


def test_the_current_folder_hides_no_installed_module(own_folder: Path) -> None:
    (own_folder / "colorsys.py").write_text("mine = True\n")
    with pytest.raises(InvalidInput, match="has no such name"):
        load_object("colorsys:mine", "a mechanism")


@pytest.mark.parametrize("text", ["", "name", ":name", "module:", "a b:c", "module:a:b", "../x:y"])
def test_another_form_is_refused_with_the_right_one(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"a mechanism of your own must be given as module:name"):
        load_object(text, "a mechanism")


def test_an_unknown_module_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"an attack should be 'x' .* 'no_such_module'.*install"):
        load_object("no_such_module:x", "an attack")


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(InvalidInput, match="a detector should be 'nothing' in the module 'json'"):
        load_object("json:nothing", "a detector")


def test_a_module_that_fails_on_import_is_one_sentence(own_folder: Path) -> None:
    (own_folder / "my_broken_module.py").write_text("1 / 0\n")
    with pytest.raises(InvalidInput, match="ZeroDivisionError: division by zero"):
        load_object("my_broken_module:x", "an extractor")
