"""Imported once in the process that servers are forked from: all they import, and one query."""

from __future__ import annotations

import tempfile
from pathlib import Path

import sfumato.service.run
from endurance.rig import make_world
from sfumato.core.releases import WordRelease
from sfumato.core.wire import decode
from sfumato.dictionary import Dictionary
from sfumato.server.localize import localize
from sfumato.server.mapping.map import Map

assert sfumato.service.run

with tempfile.TemporaryDirectory() as _folder:
    _world = make_world(Path(_folder))
    _map = Map.load(_world.folder)
    _map.word_index(Dictionary.load(_world.words))
    _release = decode(_world.release)
    assert isinstance(_release, WordRelease)
    localize(_release, _map)  # compiled kernels are loaded with the first one
    del _map
