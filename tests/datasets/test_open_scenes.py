"""A map and its queries from folders: rules, folders of queries, foreign maps, distractors."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from server.mapping.worlds import write_scene
from sfumato.core.errors import InvalidInput
from sfumato.datasets.query_rule import QueryRule
from sfumato.datasets.scenes import open_scenes
from sfumato.server.mapping import Map, read_scene


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scene(tmp_path_factory.mktemp("data") / "studio")


def test_blocks_stay_out_of_the_map_and_the_map_is_used_again(
    scene: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = open_scenes([scene], tmp_path, queries=QueryRule.parse("blocks:2/3"))
    assert [query.name for query in problem.queries] == ["studio/view4.png", "studio/view5.png"]
    assert set(problem.world.image_names) == {f"studio/view{i}.png" for i in (0, 1, 2, 3, 6)}
    assert (problem.rule, problem.has_control) == ("blocks:2/3", False)

    def never(*_: object, **__: object) -> Map:
        raise AssertionError("the map is there already")

    monkeypatch.setattr("sfumato.datasets.scenes.build_map_from_scenes", never)
    again = open_scenes([scene], tmp_path, queries=QueryRule.parse("blocks:2/3"))
    assert again.fingerprint == problem.fingerprint
    for other in ("step:4", "step:5"):  # of the second every query is out of the map already
        with pytest.raises(InvalidInput, match="other pictures"):
            open_scenes([scene], tmp_path, queries=QueryRule.parse(other))


def test_queries_may_have_a_folder_of_their_own(scene: Path, tmp_path: Path) -> None:
    content = json.loads((scene / "cameras.json").read_text())
    for part, numbers in (("hall", (0, 1, 2, 4)), ("walk", (3, 5))):
        (tmp_path / part / "images").mkdir(parents=True)
        names = [f"view{i}.png" for i in numbers]
        for name in names:
            shutil.copy(scene / "images" / name, tmp_path / part / "images" / name)
        (tmp_path / part / "cameras.json").write_text(
            json.dumps({name: content[name] for name in names})
        )
    rule = QueryRule.parse(f"folder:{tmp_path / 'walk'}")
    problem = open_scenes([tmp_path / "hall"], tmp_path / "work", queries=rule)
    assert [query.name for query in problem.queries] == ["hall/view3.png", "hall/view5.png"]
    assert problem.world.num_images == 4
    assert all(query.truth is not None and len(query.features) for query in problem.queries)
    (tmp_path / "walk" / "cameras.json").unlink()
    with pytest.raises(InvalidInput, match="intrinsics"):
        open_scenes([tmp_path / "hall"], tmp_path / "work", queries=rule)


def test_distractors_are_in_the_map_and_a_foreign_map_is_beside_it(
    scene: Path, tmp_path: Path
) -> None:
    attic = write_scene(tmp_path / "attic", num_images=3)
    rule = QueryRule.parse("step:4")
    joined = open_scenes([scene], tmp_path / "joined", queries=rule, distractors=[attic])
    assert joined.scenes == ("studio", "attic")
    assert {query.scene for query in joined.queries} == {"studio"}
    assert joined.world.num_images == 5 + 3
    assert joined.has_control
    beside = open_scenes([scene], tmp_path / "beside", queries=rule, foreign=[attic])
    assert beside.scenes == ("studio",)
    assert beside.world.num_images == 5
    assert beside.has_control
    control = beside.control_map("studio")
    assert set(control.image_names) == {f"attic/view{i}.png" for i in range(3)}


def test_a_scene_names_its_own_pictures_and_queries(scene: Path, tmp_path: Path) -> None:
    whole = read_scene(scene)
    names = tuple(f"view{i}.png" for i in range(6))
    assert whole.cameras is not None
    assert whole.poses is not None
    part = replace(
        whole,
        cameras={name: whole.cameras[name] for name in names},
        poses={name: whole.poses[name] for name in names if name != "view2.png"},
        names=names,
        queries=frozenset({"view2.png"}),
        skipped={"their pose is not finite": 1},
    )
    problem = open_scenes([part], tmp_path, queries=QueryRule.parse("auto"))
    assert [(query.name, query.truth) for query in problem.queries] == [("studio/view2.png", None)]
    assert "studio/view6.png" not in problem.world.image_names
    assert problem.skipped == {"their pose is not finite": 1}


def test_a_rule_that_finds_no_query_is_refused(scene: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no picture a query"):
        open_scenes([scene], tmp_path, queries=QueryRule.parse("blocks:50/2"))
