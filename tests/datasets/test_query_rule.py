"""Which pictures of a scene are queries: every rule, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfumato.core.errors import InvalidInput
from sfumato.datasets.query_rule import QueryRule
from sfumato.server.mapping.scenes import Scene

FRAMES = [f"{i:03}.jpg" for i in range(119)]


def test_every_third_block_of_ten_is_held_out_and_the_last_may_be_short() -> None:
    chosen = QueryRule.parse("blocks:10/3").choose(FRAMES)
    assert len(chosen) == 39
    assert chosen[0] == "020.jpg"
    assert chosen[9:11] == ("029.jpg", "050.jpg")
    assert chosen[-1] == "118.jpg"


def test_a_step_begins_with_the_first_picture() -> None:
    assert QueryRule.parse("step:50").choose(FRAMES) == ("000.jpg", "050.jpg", "100.jpg")
    assert QueryRule.parse("none").choose(FRAMES) == ()


def test_the_data_sets_own_queries_win_over_the_usual_step() -> None:
    split = frozenset({"003.jpg", "001.jpg", "not-there.jpg"})
    for text in ("auto", "split"):
        assert QueryRule.parse(text).choose(FRAMES, split=split) == ("001.jpg", "003.jpg")
    assert QueryRule.parse("auto").choose(FRAMES) == QueryRule("step").choose(FRAMES)
    with pytest.raises(InvalidInput, match="desk does not say"):
        QueryRule.parse("split").choose(FRAMES, scene="desk")


def test_a_list_names_queries_with_or_without_their_scene(tmp_path: Path) -> None:
    listed = tmp_path / "queries.txt"
    listed.write_text("# name, camera\n007.jpg PINHOLE 640 480 1 1 1 1\n\ndesk/005.jpg\nother/1\n")
    rule = QueryRule.parse(f"list:{listed}")
    assert rule.choose(FRAMES, scene="desk") == ("005.jpg", "007.jpg")
    assert str(rule) == "list:queries.txt"
    with pytest.raises(InvalidInput, match="names no picture of attic"):
        QueryRule.parse(f"list:{listed}").choose(["a.jpg"], scene="attic")
    with pytest.raises(InvalidInput, match="no list of queries"):
        QueryRule.parse(f"list:{tmp_path / 'none.txt'}").choose(FRAMES)
    listed.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="no readable text"):
        rule.choose(FRAMES)


def test_a_folder_is_one_of_the_scene_or_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "images" / "query").mkdir(parents=True)
    scene = Scene("desk", tmp_path / "images", None, None)
    rule = QueryRule.parse("folder:query")
    assert rule.other_folder(scene) is None
    assert rule.choose(["map/1.jpg", "query/2.jpg", "query2/3.jpg"]) == ("query/2.jpg",)
    assert QueryRule.parse(f"folder:{tmp_path}").other_folder(scene) == tmp_path
    with pytest.raises(InvalidInput, match="no folder elsewhere"):
        QueryRule.parse("folder:elsewhere").other_folder(scene)


@pytest.mark.parametrize(
    "text",
    ["", "four", "step", "step:", "step:x", "step:1", "step:-4", "blocks:10", "blocks:0/3",
     "blocks:10/1", "list:", "folder:", "auto:3", "step:99999999999999999999"],
)  # fmt: skip
def test_a_rule_without_sense_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        QueryRule.parse(text)


@pytest.mark.parametrize("text", ["step:4", "blocks:10/3", "split", "auto", "none"])
def test_a_rule_is_shown_as_it_is_typed(text: str) -> None:
    assert str(QueryRule.parse(text)) == text
