"""Every public name of `sf.classification` has an example, and it prints what it shows."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

import sfumato as sf

#: Base classes and results, what needs torch, and what is shown with save_encoder and save_model.
WITHOUT = {"Encoder", "Learner", "Estimate", "Codes", "BinaryNetwork", "load_encoder", "load_model"}
PUBLIC = {name: getattr(sf.classification, name) for name in sf.classification.__all__}


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - WITHOUT))
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>>" in PUBLIC[name].__doc__


@pytest.mark.parametrize(
    "module", sorted({"sfumato.classification"} | {item.__module__ for item in PUBLIC.values()})
)
def test_examples_print_what_they_show(module: str) -> None:
    assert doctest.testmod(import_module(module)).failed == 0
