"""LDP-FEAT, Tables 1 and 4; affine, Fig. 3; reverse, Table 1: which network paints which row.

A defence is measured by the attacker who was trained against it. Such networks are small or
briefly trained on small machines: steps, width and seconds stand beside every row they paint.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.invert.architecture import Architecture, check_torch
from sfumato.adversary.invert.data import DataOptions, View
from sfumato.adversary.invert.encoders import shows_frames
from sfumato.adversary.invert.networks import SHIPPED
from sfumato.adversary.invert.reconstruct import Inverter
from sfumato.adversary.invert.train import TrainOptions, train_inversion
from sfumato.core.errors import InvalidInput, Missing
from sfumato.core.releases import KeypointRelease
from sfumato.core.storage import write_file
from sfumato.core.types import Features
from sfumato.dictionary import Dictionary
from sfumato.execution.threads import Threads
from sfumato.features.extractors import find_extractor
from sfumato.privacy.defence import PLAIN, Defence
from sfumato_papers.harness.work import show_progress
from sfumato_papers.ldp_feat.inversion.outcomes import Setting
from sfumato_papers.ldp_feat.inversion.releases import SIDE

if TYPE_CHECKING:
    from sfumato_papers.ldp_feat.inversion.painting import Settings

#: Extractors whose keypoints turn: their frames can be inferred from the descriptors.
FRAMED = ("sift",)
_REMEMBERED = 32  # paintings: about as many as a picture has rows
#: Lifts of no more dimensions are read nearly right by who knows the words.
NEARLY_RIGHT = 2


@dataclass(frozen=True)
class Wanted:
    """A network by what it reads: raw, positions, words or subspace, of this defence."""

    kind: str = "raw"
    defence: Defence = PLAIN

    @property
    def name(self) -> str:
        last = self.defence.name if self.kind != "positions" else "positions"
        return f"{self.defence.extractor}-{last}"


def network_of(row: Setting) -> Wanted | None:
    """Who paints a row; None for a flat colour."""
    if row.attack == "mean colour":
        return None
    if row.attack == "positions":
        return Wanted("positions", Defence(extractor=row.defence.extractor))
    if row.attack == "direct":
        return Wanted("subspace" if row.defence.strategy else "words", row.defence)
    return Wanted("raw", Defence(extractor=row.defence.extractor))


def mostly_right(row: Setting, sent: KeypointRelease) -> bool:
    """Whether frames are looked for on the painting: where most descriptors are wrong it shows
    what they say, and agreeing with it makes the next painting worse. `database` is nearly right
    at m = 2 only."""
    if row.attack == "posterior":
        return shows_frames(sent)
    if row.attack == "database":
        return row.defence.dimension <= NEARLY_RIGHT
    return row.attack not in ("nearest", "clustering")


@dataclass(frozen=True)
class Facts:
    """What must be known of a network to judge its pictures; None where nobody wrote it down."""

    name: str
    fingerprint: str
    steps: int | None
    width: int
    frames: str
    one_look: bool
    seconds: float | None = None
    shipped: bool = False


class Networks:
    """Networks of one experiment: from a folder, from the package, or trained now.

    folder      where `<name>.onnx` are found and put
    settings    whether missing ones are trained, and what that may cost
    dictionary  levels of the LDP dictionary, database the words of lifts, for training
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        *,
        dictionary: Dictionary | None = None,
        database: Dictionary | None = None,
    ) -> None:
        self.folder, self.settings = folder.resolve(), settings
        self._dictionary, self._database = dictionary, database
        self._open: dict[str, Inverter] = {}
        self._painted: dict[tuple[str, bytes], NDArray[np.float32]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_open": {}, "_painted": {}}  # a worker opens its own

    def has(self, wanted: Wanted) -> bool:
        """Whether it is there without training."""
        return self._file(wanted) is not None

    def find(self, wanted: Wanted) -> Inverter:
        """The network, trained if need be; Missing with what to do where there is none."""
        if wanted.name not in self._open:
            path = self._file(wanted)
            if path is None:
                path = self._train(wanted)
            threads = self.settings.threads or Threads.only
            self._open[wanted.name] = Inverter(path, threads=threads)
        return self._open[wanted.name]

    def paint(
        self, wanted: Wanted, read: KeypointRelease, level: Dictionary | None, *, refine: bool
    ) -> NDArray[np.float32]:
        """The picture; attacks that recover the same descriptors give the same one, made once."""
        key = f"{wanted.name} {refine}", hashlib.sha256(read.to_bytes()).digest()
        if key not in self._painted:
            if len(self._painted) >= _REMEMBERED:
                self._painted.pop(next(iter(self._painted)))
            made = self.find(wanted).reconstruct(
                read, dictionary=level, one_look=self.settings.one_look, refine=refine
            )
            self._painted[key] = made.picture
        return self._painted[key]

    def facts(self, wanted: Wanted) -> Facts:
        found = self.find(wanted)
        training: dict[str, Any] = {}
        beside = found.path.with_suffix(".json")
        if beside.is_file():
            training = json.loads(beside.read_text(encoding="utf-8"))
        return Facts(
            name=wanted.name,
            fingerprint=hashlib.sha256(found.path.read_bytes()).hexdigest()[:16],
            steps=found.step,
            width=found.architecture.width,
            frames=found.architecture.frames,
            one_look=self.settings.one_look,
            seconds=training.get("seconds"),
            shipped=found.path.parent == SHIPPED,
        )

    def _file(self, wanted: Wanted) -> Path | None:
        places = (self.folder / f"{wanted.name}.onnx", SHIPPED / f"{wanted.name}.onnx")
        own = next((path for path in places if path.is_file()), None)
        if own is None and wanted.kind == "words" and self._dictionary is not None:
            # The painter of raw descriptors may have learned from these very words as well.
            raw = self._file(Wanted("raw", Defence(extractor=wanted.defence.extractor)))
            learned = () if raw is None else Inverter(raw, threads=1).trained_on
            if {wanted.defence.name, self._dictionary.fingerprint} <= {*learned}:
                return raw
        return own

    def _train(self, wanted: Wanted) -> Path:
        if not self.settings.train:
            raise Missing(
                f"no network {wanted.name}; give --train PICTURES to train one here, or "
                "--networks with a folder that has it"
            )
        check_torch(f"training {wanted.name}")
        from sfumato.adversary.invert.export import export_onnx

        spend, defence = self.settings, wanted.defence
        run = self.folder / "runs" / wanted.name
        spent = _Clock(run / "seconds.json")
        train_inversion(
            spend.train,
            run,
            architecture=Architecture(width=spend.width),
            view=self._view(wanted),
            data=DataOptions(crop=SIDE),
            options=TrainOptions(
                steps=spend.budget,
                perceptual=0.03 if spend.perceptual else 0.0,
                perceptual_crop=64,
                batch=2,
                structure=0.8,
                average=0.998 if spend.budget >= 1000 else 0.98,
                checkpoint_every=min(200, spend.budget),
                validation_pictures=0,
                max_minutes=spend.minutes,
                threads=spend.threads,
            ),
            start_from=spend.start_from,
            cache=self.folder / "runs" / f"cache-{defence.extractor}",
            progress=spent.watch,
        )
        path = self.folder / f"{wanted.name}.onnx"
        export_onnx(run, path)
        facts = {"seconds": spent.seconds, "pictures": [folder.name for folder in spend.train]}
        write_file(path.with_suffix(".json"), json.dumps(facts).encode())
        return path

    def _view(self, wanted: Wanted) -> View:
        defence = wanted.defence
        frames = "inferred" if wanted.kind == "raw" and defence.extractor in FRAMED else "none"
        find_extractor(defence.extractor)
        plain = View(kind=wanted.kind, extractor=defence.extractor, frames=frames)
        if wanted.kind in ("raw", "positions"):
            return plain
        level = None
        if defence.num_words:
            if self._dictionary is None:
                raise InvalidInput("training on words needs their dictionary; give one.")
            level = self._dictionary.at(defence.num_words)

        def send(features: Features, seed: int) -> KeypointRelease:
            return defence.send(features, seed, self._database, level)

        return replace(plain, dictionary=level, release=send, label=str(asdict(defence)))


class _Clock:
    """Seconds a run has taken over all its continuations, kept beside it."""

    def __init__(self, file: Path) -> None:
        self._file, self._start = file, time.monotonic()
        self._before = 0.0
        if file.is_file():
            self._before = float(json.loads(file.read_text(encoding="utf-8")))

    @property
    def seconds(self) -> float:
        return round(self._before + time.monotonic() - self._start, 1)

    def watch(self, stage: str, done: int, total: int) -> None:
        if done % 20 == 0 and self._file.parent.is_dir():
            write_file(self._file, json.dumps(self.seconds).encode())
        show_progress(stage, done, total)
