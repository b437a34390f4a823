"""Affine embeddings, Fig. 4 and 5: `sfumato experiment faces`, from a folder to the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.cli.output import note
from sfumato.core.checks import check_choice
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.storage import file_checksum
from sfumato.datasets.faces import FaceSet, open_faces, people_in_no_pair, some_faces
from sfumato.faces.embeddings import FaceEmbedder, centre, centring_helps
from sfumato.faces.pairs import Pairs, draw_pairs, split_people
from sfumato_papers.affine.faces.attributes import run_attributes, split_faces
from sfumato_papers.affine.faces.embedding import Embedded, embed_faces, given_faces, problem_of
from sfumato_papers.affine.faces.history import run_history
from sfumato_papers.affine.faces.plots import draw_plots
from sfumato_papers.affine.faces.tables import (
    attribute_rows,
    history_rows,
    report_lines,
    verification_rows,
)
from sfumato_papers.affine.faces.verification import Problem, Settings, run_verification
from sfumato_papers.harness.command import Report, make_command
from sfumato_papers.harness.options import needed
from sfumato_papers.harness.outcomes import RecordFile, read_records

Rows = NDArray[np.int64]

_ARRAYS = (".npz", ".npy")
_NAMED = 10  # files that are left out and named
_KEYS = ("kind", "way", "strategy", "dimension", "source", "num_words", "numbers", "epsilon",
         "seed", "attribute", "attack", "pictures", "releases")  # fmt: skip


def parts_of(faces: FaceSet) -> tuple[str, ...]:
    """What can be run on these faces."""
    possible = {
        "verification": faces.pairs is not None or faces.identities,
        "history": faces.identities,
        "attributes": faces.attributes,
    }
    return tuple(part for part, is_possible in possible.items() if is_possible)


def _run(settings: Settings, path: Path) -> None:
    faces = open_faces(needed(settings.data), settings.layout)
    if settings.at_most is not None:
        faces = some_faces(faces, settings.at_most)
    if faces.left_out:
        more = ", …" if len(faces.left_out) > _NAMED else ""
        note(f"named otherwise and left out: {', '.join(faces.left_out[:_NAMED])}{more}")
    allowed = parts_of(faces)
    for part in settings.parts:
        if part not in allowed:
            raise InvalidInput(
                f"{settings.data} has no {'attributes' if part == 'attributes' else 'identities'}: "
                f"--parts can be {', '.join(allowed)} here."
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    embedded, problem = open_problem(settings, faces, path.parent)
    parts = settings.parts or allowed
    is_centred = settings.centre != "no" if problem is None else problem.is_centred
    head = {
        **problem_of(embedded, len(problem.public) if problem else 0, is_centred),
        "folds": settings.num_folds,
        "pairs": len(problem.pairs) if problem else 0,
        "attribute": settings.attribute,
        "left_out": len(faces.left_out),
        "without_plus": problem is not None
        and "hybrid+" in settings.strategies
        and problem.values is None,
        "further": 0 if problem is None or problem.further is None else len(problem.further),
    }
    file = RecordFile(path, head, "results of other faces or embeddings", _KEYS)
    if "verification" in parts and problem is not None:
        run_verification(problem, settings, file)
    if "history" in parts and problem is not None:
        run_history(problem, settings, file)
    if "attributes" in parts:
        _run_attributes(settings, embedded, file)


def _run_attributes(settings: Settings, embedded: Embedded, file: RecordFile) -> None:
    faces, found = embedded.faces, np.flatnonzero(embedded.is_found)
    for name in [settings.attribute] if settings.attribute else list(faces.attributes):
        split = split_faces(
            embedded.vectors[found],
            _taken(_attribute(embedded, name), found),
            embedded.embedder,
            identities=_taken(faces.identities, found) if faces.identities else (),
            is_centred=settings.centre != "no",
        )
        run_attributes(split, name, settings, file)


def open_problem(
    settings: Settings, faces: FaceSet, output: Path
) -> tuple[Embedded, Problem | None]:
    """Embedded faces, and who is compared with whom; None where nobody knows who is on them.

    What cannot be split is refused before anything is embedded.
    """
    plan = _plan(settings, faces)
    embedded = _embed(settings, faces, output / "embeddings.jsonl")
    if plan is None:
        return embedded, None
    public, tested, pairs = plan
    others = embedded
    if settings.database is not None:
        kept = output / "embeddings-database.jsonl"
        rest = str(settings.database) == "rest"
        chosen = people_in_no_pair(faces.root) if rest else open_faces(settings.database)
        others = _embed(settings, chosen, kept)
        public = np.arange(len(others))
        if others.vectors.shape[1] != embedded.vectors.shape[1]:
            raise Mismatch("the faces of --data and --database must have embeddings of one length.")
    public = public[others.is_found[public]]
    if len(public) < 2:
        raise InvalidInput(f"at least two public faces must be found, got {len(public)}.")
    known = others.vectors[public]
    who = others.faces.identities
    is_centred = settings.centre == "yes" or (
        settings.centre == "auto" and centring_helps(known, _taken(who, public) if who else ())
    )
    filled = embedded.filled()[tested]
    values, public_values = None, None
    name = settings.attribute or next(iter(faces.attributes), "")
    if name in faces.attributes and name in others.faces.attributes:  # what hybrid+ balances
        values = _taken(faces.attributes[name], tested)
        public_values = _taken(others.faces.attributes[name], public)
    return embedded, Problem(
        raw=filled,
        vectors=centre(filled, known) if is_centred else unit_vectors(filled),
        is_found=embedded.is_found[tested],
        pairs=pairs,
        public=centre(known, known) if is_centred else unit_vectors(known),
        embedder=embedded.embedder,
        identities=_taken(faces.identities, tested) if faces.identities else (),
        values=values,
        public_values=public_values,
        further=_further(settings, output, known.shape[1]),
        is_centred=is_centred,
    )


def _further(settings: Settings, output: Path, dimension: int) -> NDArray[np.float32] | None:
    """Faces that only choose directions: the largest of each picture, embedded once."""
    if settings.further is None:
        return None
    kept = output / "embeddings-further.jsonl"
    found = _embed(
        replace(settings, several="largest", jitters=0, mirrored=False),
        open_faces(settings.further),
        kept,
    )
    if found.vectors.shape[1] != dimension:
        raise Mismatch("the faces of --data and --further must have embeddings of one length.")
    return found.vectors[found.is_found]


def _plan(settings: Settings, faces: FaceSet) -> tuple[Rows, Rows, Pairs] | None:
    """Rows of public people, rows of tested ones, and pairs among these."""
    public, tested = np.zeros(0, dtype=np.int64), np.arange(len(faces))
    if faces.pairs is not None:
        if settings.database is None:
            raise InvalidInput(
                f"{faces.name} has its own pairs, so nobody in it can be the public faces; give "
                "--database with a folder of other people."
            )
        return public, tested, faces.pairs
    if not faces.identities:
        return None
    if settings.database is None:
        public, tested = split_people(faces.identities, settings.public_people)
        if not len(public):
            raise InvalidInput("lifting needs public faces; give --public-people or --database.")
    who = _taken(faces.identities, tested)
    pairs = draw_pairs(who, num_folds=settings.num_folds, num_each=settings.num_pairs)
    return public, tested, pairs


def _embed(settings: Settings, faces: FaceSet, kept: Path) -> Embedded:
    if Path(settings.embedder).suffix in _ARRAYS:
        return given_faces(faces, settings.embedder)
    how: dict[str, Any] = {
        "cropped": settings.cropped,
        "several": settings.several,
        "jitters": settings.jitters,
    }
    if settings.unfound != "refuse":
        how["unfound"] = settings.unfound
    if settings.mirrored:
        how["mirrored"] = True
    if settings.embedder != "dlib" and Path(settings.embedder).is_file():
        how["network"] = file_checksum(Path(settings.embedder))
    return embed_faces(faces, make_embedder(settings), how, kept)


def make_embedder(settings: Settings) -> FaceEmbedder:
    """dlib's network, or an ONNX file behind dlib's finder unless faces are cropped already."""
    from sfumato.faces.dlib_network import DlibFaces, DlibFinder
    from sfumato.faces.onnx_network import OnnxFaces

    if settings.embedder == "dlib":
        return DlibFaces(
            cropped=settings.cropped,
            several=settings.several,
            unfound=settings.unfound,
            jitters=settings.jitters,
            mirrored=settings.mirrored,
        )
    if settings.mirrored or settings.jitters:
        raise InvalidInput(
            "--mirrored and --jitters are of dlib's network; leave them out with --embedder."
        )
    if Path(settings.embedder).suffix != ".onnx":
        raise InvalidInput(
            f"--embedder must be dlib or a file .onnx, .npz or .npy, got {settings.embedder!r}."
        )
    finder = (
        None if settings.cropped else DlibFinder(several=settings.several, unfound=settings.unfound)
    )
    return OnnxFaces(settings.embedder, finder=finder)


def _attribute(embedded: Embedded, name: str) -> tuple[str, ...]:
    known = embedded.faces.attributes
    return known[check_choice("attribute", name, known)]


def _taken(values: Sequence[str], rows: NDArray[np.int64]) -> tuple[str, ...]:
    return tuple(values[int(row)] for row in rows)


def _report(path: Path, settings: Settings, ran: Any) -> Report:
    head, *records = [*read_records(path)] or [{}]
    if head.get("kind") != "faces" or head.get("format") != 1:
        raise InvalidInput(f"{path} is not a file of the faces experiment.")
    plots = [] if ran is None else draw_plots(records, path.parent)
    facts = {
        "problem": head,
        "verification": verification_rows(records),
        "history": history_rows(records),
        "attributes": attribute_rows(records),
        "results": path,
        "plots": plots,
    }
    where = [*(f"plot: {plot}" for plot in plots), f"results: {path}"]
    return Report([*report_lines(head, records), *where], facts)


command = make_command(
    Settings,
    _run,
    _report,
    "experiment-faces",
    file="faces.jsonl",
    writes="Folder for embeddings, results and plots.",
)
