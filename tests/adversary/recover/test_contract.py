"""One contract over every attack."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from recoveries import PUBLIC, WORDS, lifted, worded
from sfumato.adversary.recover.base import Recovered
from sfumato.core.errors import InvalidInput
from sfumato.core.releases import Release
from support import one_of_each_release


@dataclass(frozen=True)
class Contract:
    """An attack with all it may know, and the kinds of release it applies to."""

    name: str
    attack: Callable[..., Recovered]
    kinds: tuple[str, ...]
    knowledge: tuple[str, ...]
    run: Callable[[Release], Recovered]


def subspace_rows(release: Any) -> dict[str, Any]:
    count = min(len(release), 2)
    return {"rows": np.arange(count), "matched": np.asarray(PUBLIC[:count], dtype=np.float32)}


ATTACKS = (
    Contract("nearest", sf.attacks.nearest, ("subspaces",), ("database",),
             lambda r: sf.attacks.nearest(r, database=PUBLIC)),
    Contract("database", sf.attacks.database, ("subspaces",),
             ("database", "num_sub_databases", "num_neighbours", "num_used", "tolerance"),
             lambda r: sf.attacks.database(r, database=WORDS)),
    Contract("clustering", sf.attacks.clustering, ("subspaces",),
             ("database", "others", "num_adversarial", "num_neighbours", "tolerance"),
             lambda r: sf.attacks.clustering(r, database=PUBLIC)),
    Contract("vertex", sf.attacks.vertex, ("subspaces",), ("database", "context"),
             lambda r: sf.attacks.vertex(r)),
    Contract("posterior", sf.attacks.posterior, ("words",), ("dictionary", "prior", "context"),
             lambda r: sf.attacks.posterior(r, dictionary=WORDS)),
    Contract("repeats", sf.attacks.repeats, ("subspaces", "words"),
             ("dictionary", "prior", "tolerance"),
             lambda r: sf.attacks.repeats([r], dictionary=WORDS)),
    Contract("inliers", sf.attacks.inliers, ("subspaces", "words"),
             ("rows", "matched", "false_inliers", "dictionary"),
             lambda r: sf.attacks.inliers(r, dictionary=WORDS, **subspace_rows(r))),
)  # fmt: skip
CASES = [(attack, kind) for attack in ATTACKS for kind in attack.kinds]
NAMES = [f"{attack.name}-{kind}" for attack, kind in CASES]


def sample(kind: str, count: int = 12) -> Any:
    return lifted(count=count).release if kind == "subspaces" else worded(count=count)[0]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_sees_the_release_and_its_declared_knowledge_only(attack: Contract) -> None:
    parameters = list(inspect.signature(attack.attack).parameters.values())
    assert parameters[0].name in ("release", "releases")
    assert all(one.kind is one.KEYWORD_ONLY for one in parameters[1:])
    assert tuple(one.name for one in parameters[1:]) == (*attack.knowledge, "seed", "progress")
    source = inspect.getsource(inspect.getmodule(attack.attack))  # type: ignore[arg-type]
    assert "sfumato.device" not in source
    assert "sfumato.server" not in source


@pytest.mark.parametrize(("attack", "kind"), CASES, ids=NAMES)
def test_answers_are_unit_vectors_with_a_confidence(attack: Contract, kind: str) -> None:
    release = sample(kind)
    found = attack.run(release)
    assert found.descriptors.shape == (len(release), 128)
    assert np.abs(np.linalg.norm(found.descriptors, axis=1) - 1).max() < 1e-4
    assert 0 <= found.confidence.min() <= found.confidence.max() <= 1
    assert found.certified.shape == (len(release),)


@pytest.mark.parametrize(("attack", "kind"), CASES, ids=NAMES)
@pytest.mark.parametrize("count", [0, 1])
def test_nothing_and_one_keypoint_are_answered(attack: Contract, kind: str, count: int) -> None:
    found = attack.run(sample(kind, count))
    assert found.descriptors.shape == (count, 128)


@pytest.mark.parametrize(("attack", "kind"), CASES, ids=NAMES)
def test_the_same_seed_gives_the_same_answer(attack: Contract, kind: str) -> None:
    release = sample(kind)
    assert attack.run(release) == attack.run(release)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_other_kinds_are_refused_by_name(attack: Contract) -> None:
    for release in one_of_each_release(4).values():
        if release.kind not in attack.kinds:
            with pytest.raises(InvalidInput, match=rf"{attack.name}.*{release.kind}"):
                attack.run(release)


@pytest.mark.parametrize(("attack", "kind"), CASES, ids=NAMES)
def test_answers_do_not_depend_on_the_order_of_the_rows(attack: Contract, kind: str) -> None:
    if attack.name == "inliers":
        pytest.skip("rows are named by their number")
    release = sample(kind)
    turned = np.arange(len(release))[::-1]
    # The same rows at the places of the others: a release orders rows by place.
    moved: Any = replace(release, **{name: getattr(release, name)[turned] for name in
                                     type(release)._row_fields})  # fmt: skip
    straight, other = attack.run(release), attack.run(moved)
    assert np.abs(other.descriptors[turned] - straight.descriptors).max() < 1e-4
    assert np.allclose(other.confidence[turned], straight.confidence, atol=1e-3)


@pytest.mark.parametrize("name", ["nearest", "database", "clustering"])
def test_a_database_of_another_extractor_is_refused(name: str) -> None:
    other = sf.Dictionary.from_words(PUBLIC[:32].astype(np.float32), extractor="rootsift")
    with pytest.raises(InvalidInput, match="rootsift"):
        getattr(sf.attacks, name)(sample("subspaces"), database=other)
    with pytest.raises(InvalidInput, match="at least one"):
        getattr(sf.attacks, name)(sample("subspaces"), database=PUBLIC[:0])
