"""From a folder and a few choices to what is run: faces embedded, people split, pairs drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.progress import Progress, silent
from sfumato.core.storage import file_checksum
from sfumato.datasets.faces import FaceSet, open_faces
from sfumato.experiments.faces import Grid, Problem, run_verification
from sfumato.experiments.faces_attributes import run_attributes, split_faces
from sfumato.experiments.faces_data import Embedded, embed_faces, given_faces, problem_of
from sfumato.experiments.faces_history import HistoryGrid, run_history
from sfumato.experiments.faces_results import ResultFile
from sfumato.faces.embeddings import FaceEmbedder, centre, unit
from sfumato.faces.pairs import Pairs, draw_pairs, split_people

_ARRAYS = (".npz", ".npy")


@dataclass(frozen=True)
class Setup:
    """What `sfumato experiment faces` is asked for."""

    data: Path
    layout: str = "auto"
    embedder: str = "dlib"
    cropped: bool = False
    several: str = "refuse"
    jitters: int = 0
    database: Path | None = None
    public_people: int = 10
    num_folds: int = 10
    num_pairs: int = 100
    is_centred: bool = True
    attribute: str | None = None


def parts_of(faces: FaceSet) -> tuple[str, ...]:
    """What can be run on these faces."""
    found = []
    if faces.pairs is not None or faces.identities:
        found.append("verification")
    if faces.identities:
        found.append("history")
    if faces.attributes:
        found.append("attributes")
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Opened:
    """Embedded faces; `problem` is None where nobody knows who is on them."""

    setup: Setup
    embedded: Embedded
    problem: Problem | None
    identities: tuple[str, ...]

    def run(
        self,
        parts: Sequence[str],
        grid: Grid,
        history: HistoryGrid,
        path: Path,
        *,
        progress: Progress = silent,
    ) -> None:
        public = 0 if self.problem is None else len(self.problem.public)
        choices = {
            "folds": self.setup.num_folds,
            "pairs": 0 if self.problem is None else len(self.problem.pairs),
            "attribute": self.setup.attribute,
        }
        head = {**problem_of(self.embedded, public, self.setup.is_centred), **choices}
        file = ResultFile(path, head)
        if "verification" in parts and self.problem is not None:
            run_verification(self.problem, grid, file, progress=progress)
        if "history" in parts and self.problem is not None:
            run_history(self.problem, self.identities, grid, history, file, progress=progress)
        if "attributes" in parts:
            self._attributes(grid, file, progress)

    def _attributes(self, grid: Grid, file: ResultFile, progress: Progress) -> None:
        faces, found = self.embedded.faces, np.flatnonzero(self.embedded.is_found)
        wanted = [self.setup.attribute] if self.setup.attribute else list(faces.attributes)
        for name in wanted:
            split = split_faces(
                self.embedded.vectors[found],
                _taken(_attribute(self.embedded, name), found),
                self.embedded.embedder,
                identities=_taken(faces.identities, found) if faces.identities else (),
                is_centred=self.setup.is_centred,
            )
            run_attributes(split, name, grid, file, progress=progress)


def open_setup(
    setup: Setup, faces: FaceSet, output: Path, *, progress: Progress = silent
) -> Opened:
    """Split the people, embed the faces or read them from an earlier run.

    What cannot be split is refused before anything is embedded.
    """
    plan = _plan(setup, faces)
    kept = (output / "embeddings.jsonl", output / "embeddings-database.jsonl")
    embedded = _embed(setup, faces, kept[0], progress)
    if plan is None:
        return Opened(setup, embedded, None, ())
    others, public = embedded, plan.public
    if setup.database is not None:
        others = _embed(setup, open_faces(setup.database), kept[1], progress)
        public = np.arange(len(others))
        if others.vectors.shape[1] != embedded.vectors.shape[1]:
            raise Mismatch("the faces of --data and --database must have embeddings of one length.")
    return _split(setup, embedded, others, public, plan)


@dataclass(frozen=True, eq=False)
class Plan:
    """Rows of public people, rows of tested ones, and pairs among these."""

    public: NDArray[np.int64]
    tested: NDArray[np.int64]
    pairs: Pairs


def _plan(setup: Setup, faces: FaceSet) -> Plan | None:
    nobody = np.zeros(0, dtype=np.int64)
    if faces.pairs is not None:
        if setup.database is None:
            raise InvalidInput(
                f"{faces.name} has its own pairs, so nobody in it can be the public faces; give "
                "--database with a folder of other people."
            )
        return Plan(nobody, np.arange(len(faces)), faces.pairs)
    if not faces.identities:
        return None
    public, tested = nobody, np.arange(len(faces))
    if setup.database is None:
        public, tested = split_people(faces.identities, setup.public_people)
        if not len(public):
            raise InvalidInput("lifting needs public faces; give --public-people or --database.")
    who = _taken(faces.identities, tested)
    return Plan(
        public, tested, draw_pairs(who, num_folds=setup.num_folds, num_each=setup.num_pairs)
    )


def _split(
    setup: Setup,
    embedded: Embedded,
    others: Embedded,
    public: NDArray[np.int64],
    plan: Plan,
) -> Opened:
    public = public[others.is_found[public]]
    if len(public) < 2:
        raise InvalidInput(f"at least two public faces must be found, got {len(public)}.")
    open_faces_of = others.vectors[public]
    tested = plan.tested
    filled = embedded.filled()[tested]
    identities = _taken(embedded.faces.identities, tested) if embedded.faces.identities else ()
    values, public_values = _values(setup, embedded, others, tested, public)

    def form(vectors: NDArray[Any]) -> NDArray[np.float64]:
        return centre(vectors, open_faces_of) if setup.is_centred else unit(vectors)

    problem = Problem(
        raw=filled,
        vectors=form(filled),
        is_found=embedded.is_found[tested],
        pairs=plan.pairs,
        public=form(open_faces_of),
        embedder=embedded.embedder,
        values=values,
        public_values=public_values,
    )
    return Opened(setup, embedded, problem, identities)


def _values(
    setup: Setup,
    embedded: Embedded,
    others: Embedded,
    tested: NDArray[np.int64],
    public: NDArray[np.int64],
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The attribute that hybrid+ balances, where both sides have it."""
    name = setup.attribute or next(iter(embedded.faces.attributes), None)
    if name is None or name not in embedded.faces.attributes or name not in others.faces.attributes:
        return None, None
    return (
        _taken(embedded.faces.attributes[name], tested),
        _taken(others.faces.attributes[name], public),
    )


def _embed(setup: Setup, faces: FaceSet, kept: Path, progress: Progress) -> Embedded:
    if Path(setup.embedder).suffix in _ARRAYS:
        return given_faces(faces, setup.embedder)
    settings: dict[str, Any] = {
        "cropped": setup.cropped,
        "several": setup.several,
        "jitters": setup.jitters,
    }
    if setup.embedder != "dlib" and Path(setup.embedder).is_file():
        settings["network"] = file_checksum(Path(setup.embedder))
    return embed_faces(faces, make_embedder(setup), settings, kept, progress=progress)


def make_embedder(setup: Setup) -> FaceEmbedder:
    """dlib's network, or an ONNX file behind dlib's finder unless faces are cropped already."""
    from sfumato.faces.dlib_network import DlibFaces, DlibFinder
    from sfumato.faces.onnx_network import OnnxFaces

    if setup.embedder == "dlib":
        return DlibFaces(cropped=setup.cropped, several=setup.several, jitters=setup.jitters)
    if Path(setup.embedder).suffix != ".onnx":
        raise InvalidInput(
            f"--embedder must be dlib or a file .onnx, .npz or .npy, got {setup.embedder!r}."
        )
    finder = None if setup.cropped else DlibFinder(several=setup.several)
    return OnnxFaces(setup.embedder, finder=finder)


def _attribute(embedded: Embedded, name: str) -> tuple[str, ...]:
    known = embedded.faces.attributes
    if name not in known:
        raise InvalidInput(f"attribute must be one of {', '.join(known)}, got {name!r}.")
    return known[name]


def _taken(values: Sequence[str], rows: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(values[int(row)] for row in rows)
