"""The inversion experiment: every row once, nothing lost, and no row without its network."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from commands import sfumato
from recoveries import PUBLIC, WORDS
from sfumato.adversary.invert.encoders import Source
from sfumato.adversary.invert.reconstruct import Reconstruction
from sfumato.core.errors import InvalidInput, Mismatch, Missing
from sfumato.core.releases import PlainRelease, SubspaceRelease, WordRelease
from sfumato.dictionary import Dictionary
from sfumato.privacy.defence import Defence
from sfumato_papers.harness.command import Report
from sfumato_papers.ldp_feat.inversion import tables as paper
from sfumato_papers.ldp_feat.inversion.networks import Facts, Networks, Wanted, network_of
from sfumato_papers.ldp_feat.inversion.outcomes import (
    OutcomeFile,
    Setting,
    read_outcomes,
    steps_down,
    summarise,
)
from sfumato_papers.ldp_feat.inversion.painting import Settings, run_inversion
from sfumato_papers.ldp_feat.inversion.releases import (
    Judge,
    Knowledge,
    Picture,
    Releases,
    load_squares,
    mean_colour,
)
from sfumato_papers.ldp_feat.inversion.sheets import draw_plot, draw_sheet, sheets_of
from sfumato_papers.ldp_feat.inversion.tables import report_lines
from support import photograph

GRID = Settings(
    parts=("raw", "lifting", "affine", "words"),
    attacks=("nearest", "vertex", "direct"),
    dimensions=(4,),
    num_words=(WORDS.num_words,),
    subset_sizes=(1,),
    epsilons=(16, 4),
)
PROBLEM = {"data": "photos", "pictures": 2, "side": 256, "max_keypoints": 1000}


class Painter:
    """Paints every picture in one gray, which the descriptors decide."""

    def __init__(self, seen: list[Source]) -> None:
        self._seen = seen

    def reconstruct(
        self,
        source: Source,
        *,
        dictionary: Dictionary | None = None,
        one_look: bool = False,
        refine: bool = True,
    ) -> Reconstruction:
        self._seen.append(source)
        shade = 0.5
        if isinstance(source, PlainRelease):
            shade = float(source.descriptors.astype(np.float64).mean() / 255)
        width, height = source.image_size
        return Reconstruction(np.full((height, width, 3), shade, np.float32), len(source))


class FakeNetworks(Networks):
    """Has a painter for everything but what was trained on subspaces."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, GRID)
        self.seen: list[Source] = []
        self.fingerprint = "first"

    def has(self, wanted: Wanted) -> bool:
        return wanted.kind != "subspace"

    def find(self, wanted: Wanted) -> Any:
        if wanted.kind == "subspace":
            raise Missing(f"no network {wanted.name}")
        return Painter(self.seen)

    def facts(self, wanted: Wanted) -> Facts:
        return Facts(wanted.name, self.fingerprint, 7, 8, "none", False, 12.5)


@pytest.fixture(scope="module")
def pictures() -> tuple[Picture, ...]:
    photo = photograph()
    return (Picture("a.png", photo[:96, 180:276]), Picture("b.png", photo[100:196, 100:196]))


def start(folder: Path) -> tuple[Releases, FakeNetworks, OutcomeFile]:
    releases = Releases(Knowledge(WORDS, PUBLIC), WORDS, folder / "recovered")
    return releases, FakeNetworks(folder), OutcomeFile(folder / "outcomes.jsonl", PROBLEM)


@pytest.fixture(scope="module")
def folder(pictures: tuple[Picture, ...], tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("inversion")
    releases, networks, file = start(home)
    run_inversion(pictures, releases, networks, GRID, Judge(without="LPIPS is away."), file)
    return home


def test_every_row_is_made_once_for_every_picture(folder: Path) -> None:
    results = read_outcomes(folder / "outcomes.jsonl")
    made = [(outcome.setting, outcome.picture) for outcome in results.outcomes]
    assert len(made) == len(set(made))
    missing = {row for row in GRID.rows(WORDS) if (w := network_of(row)) and w.kind == "subspace"}
    assert set(results.settings()) == set(GRID.rows(WORDS)) - missing
    assert set(results.absent) == missing
    assert all(len(results.of(setting)) == 2 for setting in results.settings())


def test_each_attack_reads_what_it_should(pictures: tuple[Picture, ...], tmp_path: Path) -> None:
    releases, networks, file = start(tmp_path)
    quiet = replace(GRID, num_shown=0)
    run_inversion(pictures[:1], releases, networks, quiet, Judge(), file)
    kinds = [type(one) for one in networks.seen]
    # raw, positions, nearest and vertex at m = 4, nearest twice at m = 2, two guesses
    assert kinds.count(PlainRelease) == 8
    assert kinds.count(WordRelease) == 2
    assert kinds.count(SubspaceRelease) == 0


def test_the_vertex_attack_gives_back_what_was_sent(
    pictures: tuple[Picture, ...], tmp_path: Path
) -> None:
    releases, _, _ = start(tmp_path)
    lift = Defence(strategy="sub-hybrid", dimension=2)
    found = releases.recovered(pictures[0], lift, "vertex")
    sent = releases.sent(pictures[0], Defence())
    assert isinstance(sent, PlainRelease)
    right = (found.descriptors == sent.descriptors).all(axis=1).mean()
    assert right > 0.5
    kept = list((tmp_path / "recovered").glob("*.npy"))
    again, _, _ = start(tmp_path)
    assert np.array_equal(again.recovered(pictures[0], lift, "vertex").descriptors,
                          found.descriptors)  # fmt: skip
    kept[0].write_bytes(b"torn")  # damaged: attacked again, the same
    assert np.array_equal(again.recovered(pictures[0], lift, "vertex").descriptors,
                          found.descriptors)  # fmt: skip


def test_a_run_killed_in_a_line_goes_on_and_repeats_nothing(
    folder: Path, pictures: tuple[Picture, ...], tmp_path: Path
) -> None:
    whole = (folder / "outcomes.jsonl").read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    (tmp_path / "outcomes.jsonl").write_text("".join(lines[:9]) + lines[9][:40], encoding="utf-8")
    releases, networks, file = start(tmp_path)
    run_inversion(pictures, releases, networks, GRID, Judge(without="LPIPS is away."), file)

    def scores(text: str) -> list[str]:
        found = [json.loads(line) for line in text.splitlines()]
        return sorted(
            str((o["setting"], o["picture"], o["measures"], o["num_bytes"]))
            for o in found
            if o["kind"] == "outcome"
        )

    assert scores(file.path.read_text(encoding="utf-8")) == scores(whole)
    made = len(networks.seen)
    run_inversion(pictures, releases, networks, GRID, Judge(without="LPIPS is away."), file)
    assert len(networks.seen) == made


def test_other_pictures_or_another_network_are_not_mixed_in(
    folder: Path, pictures: tuple[Picture, ...], tmp_path: Path
) -> None:
    text = (folder / "outcomes.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path = tmp_path / "outcomes.jsonl"
    path.write_text("".join(text[:4]), encoding="utf-8")
    with pytest.raises(Mismatch, match="another set of pictures"):
        OutcomeFile(path, {**PROBLEM, "pictures": 3})
    releases, networks, file = start(tmp_path)
    networks.fingerprint = "second"
    with pytest.raises(Mismatch, match="another network sift-raw"):
        run_inversion(pictures, releases, networks, GRID, Judge(), file)


def test_the_tables_show_intervals_units_papers_and_what_is_missing(folder: Path) -> None:
    results = read_outcomes(folder / "outcomes.jsonl")
    shown = Report(report_lines(results)).text()
    for words in (
        "[ldp-feat, Table 1]",
        "0.688",  # the paper's raw
        "ε = 16",
        "ε a picture",
        "ε is per descriptor and adds up over the keypoints of a picture",
        "not made: direct, sub-hybrid m = 4: no network",
        "no LPIPS: LPIPS is away.",
        "7 steps, width 8, 12 s",
        "positions and their number are never protected",
    ):
        assert words in " ".join(shown.split())
    for line in shown.splitlines():
        if "sub-hybrid" in line:
            assert "ε" not in line
    rows = {row["setting"]: row for row in summarise(results)}
    raw = rows[Setting("raw")]
    assert raw["ssim"].low <= raw["ssim"].mean <= raw["ssim"].high
    lifted = rows[Setting("nearest", Defence(strategy="sub-hybrid", dimension=4))]
    assert lifted["num_bytes"] > 4 * raw["num_bytes"]
    steps = dict(steps_down(results))
    assert any("ε = 16 − ε = 4" in name for name in steps)
    assert any("m = 4: raw − vertex" in name for name in steps)


def test_sheets_and_plot_are_pictures_of_what_was_kept(folder: Path, tmp_path: Path) -> None:
    rows = summarise(read_outcomes(folder / "outcomes.jsonl"))
    draw_plot(rows, tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as plot:
        assert plot.width > 1000
    columns = sheets_of(rows)["sub-hybrid-m4"]
    assert [title for title, _ in columns] == [
        "photograph", "raw", "vertex, m = 4", "nearest, m = 4"
    ]  # fmt: skip
    count = draw_sheet(folder / "pictures", columns, tmp_path / "sheet.jpg", side=48)
    assert count == 2
    with Image.open(tmp_path / "sheet.jpg") as sheet:
        assert sheet.width == 4 * 52 - 4
    assert draw_sheet(tmp_path, columns, tmp_path / "none.png") == 0


def test_unreadable_pictures_are_counted_and_none_at_all_refused(tmp_path: Path) -> None:
    Image.fromarray(photograph()[:100, :300]).save(tmp_path / "wide.png")
    (tmp_path / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\n torn")
    found, unreadable = load_squares(tmp_path, None)
    assert (len(found), unreadable) == (1, 1)
    assert found[0].pixels.shape == (256, 256, 3)
    assert mean_colour(found) == pytest.approx(found[0].pixels.mean(axis=(0, 1)) / 255, abs=1e-6)
    (tmp_path / "wide.png").unlink()
    with pytest.raises(InvalidInput, match="no picture of this folder can be used"):
        load_squares(tmp_path, None)
    with pytest.raises(InvalidInput, match="num-pictures"):
        load_squares(tmp_path, 0)


def test_bad_grids_and_files_are_refused(tmp_path: Path) -> None:
    for change in (
        {"parts": ("everything",)},
        {"attacks": ("prayer",)},
        {"dimensions": (1,)},
        {"epsilons": (0.0,)},
        {"epsilons": (math.nan,)},
        {"extractors": ("eyes",)},
    ):
        with pytest.raises(InvalidInput):
            replace(GRID, **change)
    file = tmp_path / "other.jsonl"
    file.write_text('{"kind": "matching"}\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match="not a file of the inversion experiment"):
        read_outcomes(file)


def test_the_papers_figures_are_found_by_row() -> None:
    lift = Defence(strategy="sub-hybrid", dimension=4)
    found = paper.lifts(Setting("database", lift))
    assert found is not None
    assert found.ssim == 0.6543
    assert paper.lifts(Setting("vertex", lift)) is None
    words = paper.words(Setting("direct", Defence(num_words=16384, subset_size=2, epsilon=10)))
    assert words is not None
    assert words.ssim == 0.3676


def test_the_command_wants_pictures_and_a_database_for_lifts(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sfumato("experiment", "inversion") == 2
    assert "give --pictures" in capsys.readouterr().err
    options = ("--pictures", tmp_path, "--parts", "lifting", "-o", tmp_path / "out")
    assert sfumato("experiment", "inversion", *options) == 2
    assert "lifts need --database" in capsys.readouterr().err
    assert sfumato("experiment", "inversion", "--evaluate", folder / "outcomes.jsonl") == 0
    assert "Lifted SIFT" in capsys.readouterr().out
