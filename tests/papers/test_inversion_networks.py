"""The networks of the inversion experiment: shipped, missing, or trained within a budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from commands import sfumato_json
from recoveries import WORDS
from sfumato.core.errors import InvalidInput, Missing
from sfumato.dictionary import Dictionary
from sfumato.features import extract
from sfumato.privacy.defence import Defence
from sfumato_papers.ldp_feat.inversion.networks import Networks, Wanted, mostly_right
from sfumato_papers.ldp_feat.inversion.outcomes import Setting
from sfumato_papers.ldp_feat.inversion.painting import Settings
from sfumato_papers.ldp_feat.inversion.releases import RECOVERIES, Picture, Releases
from support import photograph


def test_a_missing_network_is_not_replaced_by_another(tmp_path: Path) -> None:
    wanted = Wanted("words", Defence(num_words=64, subset_size=2, epsilon=10))
    with pytest.raises(Missing, match="no network sift-words-64-2-10; give --train"):
        Networks(tmp_path, Settings()).find(wanted)
    with pytest.raises(InvalidInput, match="budget must be at least 1"):
        Settings(train=(tmp_path,), budget=0)
    with pytest.raises(InvalidInput, match="minutes"):
        Settings(train=(tmp_path,), minutes=-1)


def test_the_shipped_painter_reads_the_words_it_learned_from_and_no_others(
    tmp_path: Path,
) -> None:
    networks = Networks(tmp_path, Settings(), dictionary=Dictionary.load("open-64k"))
    learned = Defence(num_words=8192, subset_size=1, epsilon=8)
    assert networks.find(Wanted("words", learned)).reads_words
    for other in (replace(learned, num_words=16_384), replace(learned, subset_size=2)):
        with pytest.raises(Missing, match="give --train"):
            networks.find(Wanted("words", other))
    others = Networks(tmp_path, Settings(), dictionary=Dictionary.load("bsds-16k"))
    with pytest.raises(Missing, match="give --train"):
        others.find(Wanted("words", learned))


def test_the_shipped_network_paints_what_was_sent_and_less_the_smaller_epsilon_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "photos").mkdir()
    for number, left in enumerate((0, 128, 256)):
        crop = photograph()[:256, left : left + 256]
        Image.fromarray(crop).save(tmp_path / "photos" / f"{number}.png")
    command = ("--pictures", tmp_path / "photos", "--parts", "raw,words", "--epsilon", "16,2")
    fast = ("--word-attack", "posterior", "--one-look", "--threads", 1, "-o", tmp_path / "out")
    found = sfumato_json("experiment", capsys, "inversion", *command, *fast)
    scores = {
        (row["setting"]["attack"], row["setting"]["defence"]["epsilon"]): row["ssim"]["mean"]
        for row in found["rows"]
    }
    assert scores["raw", None] > scores["mean colour", None] + 0.05
    assert scores["raw", None] > scores["posterior", 16] > scores["posterior", 2] + 0.03
    assert [Path(sheet).is_file() for sheet in found["sheets"]] == [True, True]
    assert list(found["absent"]) == ["sift-raw-positions"]


@pytest.mark.needs("train")
def test_a_missing_attacker_is_trained_within_its_budget(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    photo = photograph()[:256, 100:356]
    Image.fromarray(photo).save(tmp_path / "photos" / "one.png")
    budget = Settings(train=(tmp_path / "photos",), budget=2, width=4, perceptual=False, threads=1)
    networks = Networks(tmp_path / "nets", budget, dictionary=WORDS)
    words = Defence(num_words=WORDS.num_words, subset_size=2, epsilon=10)
    wanted = Wanted("words", words)
    assert not networks.has(wanted)
    releases = Releases(None, WORDS, tmp_path / "recovered")
    sent = releases.sent(Picture("one.png", photo), words)
    made = networks.find(wanted).reconstruct(sent, dictionary=WORDS, one_look=True)
    assert made.picture.shape == photo.shape
    facts = networks.facts(wanted)
    assert (facts.steps, facts.width, facts.shipped) == (2, 4, False)
    assert facts.seconds is not None
    assert facts.seconds > 0
    assert Networks(tmp_path / "nets", Settings()).has(wanted)  # found again without a budget


def test_frames_are_looked_for_where_an_attack_is_mostly_right() -> None:
    features = extract(np.ascontiguousarray(photograph()[:96, :96]))
    public = Dictionary.load("open-64k")

    def refines(attack: str, **defence: Any) -> bool:
        row = Setting(attack, Defence(**defence))
        level = public.at(row.defence.num_words) if row.defence.num_words else None
        return mostly_right(row, row.defence.send(features, 0, public, level))

    for dimension, wanted in ((2, ["database", "vertex"]), (4, ["vertex"])):
        lift = {"strategy": "sub-hybrid", "dimension": dimension}
        assert [one for one in RECOVERIES if refines(one, **lift)] == wanted
    for epsilon, wanted_words in ((12.0, True), (8.0, False)):
        words = public.at_epsilon(epsilon, 1).num_words
        given = {"num_words": words, "subset_size": 1, "epsilon": epsilon}
        assert refines("posterior", **given) == wanted_words
    assert refines("raw")
