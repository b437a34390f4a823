"""The card of a network tells the licences of what it learned from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.crops import find_pictures
from sfumato.adversary.invert.model_card import (
    CARD,
    CREDITS,
    SOURCES,
    read_card,
    read_provenance,
    write_card,
)
from sfumato.adversary.invert.networks import find_network
from sfumato.adversary.invert.train import TrainOptions
from sfumato.core.errors import InvalidInput

LIST = 'file,licence,credit,url\n0.png,CC0,,x\n1.png,CC0,"Ann, Bo",x\n3.png,CC BY 4.0,Cy,x\n'


def test_licences_are_counted_and_what_is_not_listed_is_unknown(
    folder: Path, tmp_path: Path
) -> None:
    (folder / SOURCES).write_text(LIST)
    found = read_provenance(find_pictures([folder], 64))
    assert found.licences == {"CC0": 2, "unknown": 2, "CC BY 4.0": 1}
    settings = {**asdict(TrainOptions(structure=0.5)), "steps_before": 40}
    facts = {"ssim": 0.51234}
    write_card(tmp_path, Architecture(), settings, found, step=7, cpu_hours=1.25, scores=facts)
    card = (tmp_path / CARD).read_text()
    assert "| licences of the data | CC0: 2; unknown: 2; CC BY 4.0: 1 |" in card
    assert "| steps | 7 of 4 crops, after 40 |" in card
    assert "| time | 1.2 CPU hours |" in card
    assert "| loss | L1 + 0.5·(1 − SSIM) + 1·VGG16 |" in card
    assert "ssim 0.5123" in card
    credits = (tmp_path / CREDITS).read_text().splitlines()
    assert credits[0] == "file,licence,credit"
    assert credits[2] == 'pictures/1.png,CC0,"Ann, Bo"'
    assert len(credits) == 6


def test_pictures_without_a_list_are_of_unknown_licence(folder: Path) -> None:
    assert read_provenance(find_pictures([folder], 64)).licences == {"unknown": 5}


def test_a_list_without_licences_is_refused(folder: Path) -> None:
    (folder / SOURCES).write_text("file,url\n0.png,x\n")
    with pytest.raises(InvalidInput, match="columns file, licence, credit"):
        read_provenance(find_pictures([folder], 64))
    (folder / SOURCES).write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InvalidInput, match="UTF-8"):
        read_provenance(find_pictures([folder], 64))


def test_the_card_of_a_network_is_read_from_the_text_beside_it(tmp_path: Path) -> None:
    network = tmp_path / "sift-words.onnx"
    assert read_card(network) == {}
    (tmp_path / "README.md").write_text(
        "## sift-raw.onnx\n| | |\n|---|---|\n| data | others |\n## sift-words.onnx: words\n\n"
        "| | |\n|---|---|\n| data | ten [photographs](list.csv) of `mine` |\nno | row\n"
    )
    assert read_card(network) == {"data": "ten photographs of mine"}
    assert read_card(tmp_path / "sift-subspace.onnx") == {}
    assert {"data", "gives"} <= set(read_card(find_network()))  # the shipped one says it
