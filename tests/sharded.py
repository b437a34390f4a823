"""Answers of maps in shards: equal to the last bit, and with shards that are lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sfumato.core.types import Localization
from sfumato.server.shards.shard import Message
from sfumato.server.shards.sharded_map import Ask


def assert_same(found: Localization, whole: Localization) -> None:
    """Equal to the last bit, in everything that an answer says."""
    assert (found.pose is None) == (whole.pose is None)
    if found.pose is not None and whole.pose is not None:
        assert np.array_equal(found.pose.rotation, whole.pose.rotation)
        assert np.array_equal(found.pose.translation, whole.pose.translation)
    if found.error is not None or whole.error is not None:
        assert found.error is not None
        assert whole.error is not None
        assert np.array_equal(found.error.covariance, whole.error.covariance)
    assert replace(found, pose=None, error=None) == replace(whole, pose=None, error=None)


def losing(ask: Ask, *lost: int, step: str = "vote") -> Ask:
    """Shards of which some do not answer, from one step on."""
    gone: set[int] = set()

    def partly(messages: Mapping[int, Message]) -> Mapping[int, Message]:
        if any(message["ask"] == step for message in messages.values()):
            gone.update(lost)
        return ask({number: one for number, one in messages.items() if number not in gone})

    return partly
