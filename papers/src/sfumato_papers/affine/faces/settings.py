"""Affine embeddings, Fig. 4 and 5: what `sfumato experiment faces` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato_papers.harness.options import Checked, option

STRATEGIES = ("random", "adversarial", "hybrid", "hybrid+")
PARTS = ("verification", "history", "attributes")


@dataclass(frozen=True)
class Settings(Checked):
    """Verify faces on private embeddings, and attack these: histories and attributes.

    Results are written as they are made; the same command goes on where it was stopped. The folder
    also holds the embeddings, which tell who is who: keep it as private as the pictures are.

    Example: sfumato experiment faces --data orl_faces -o faces
    """

    data: Path | None = option(
        None,
        "A folder of faces.",
        needed="give --data with a folder, or --evaluate with a file of results.",
    )
    layout: str = option(
        "auto",
        "auto, identities (a folder per person), lfw, cfp-ff, cfp-fp, listed, agedb, utkface or "
        "fairface.",
    )
    embedder: str = option("dlib", "dlib, a network *.onnx, or embeddings *.npz or *.npy.")
    cropped: bool = option(False, "Each picture is a face: look for none.", "--cropped")
    several: str = option("refuse", "With several faces in a picture: refuse, largest or surest.")
    jitters: int = option(0, "Changed copies that dlib averages.")
    database: Path | None = option(None, "Faces of other people, the public ones; same embedder.")
    public_people: int = option(
        10, "Without --database: so many people of DATA are the public ones."
    )
    num_folds: int = option(10, "Folds of drawn pairs.", "--folds")
    num_pairs: int = option(100, "Drawn pairs of each kind in each fold.", "--pairs")
    is_centred: bool = option(
        True, "Send embeddings as seen from the public mean.", "--centre/--no-centre"
    )
    strategies: tuple[str, ...] = option(
        STRATEGIES, "How to lift, several.", "--strategy", choices=STRATEGIES
    )
    dimensions: tuple[int, ...] = option((2, 4, 8, 16), "m, several.", "--dimension", low=2)
    epsilons: tuple[float, ...] = option(
        (6.0, 8.0, 10.0), "ε per embedding, several.", "--epsilon", epsilon=True
    )
    num_words: tuple[int, ...] = option((32, 128, 512), "|K|, several.", "--words", low=2)
    num_seeds: int = option(3, "Releases drawn of each face and setting.", "--seeds", low=1)
    attribute: str | None = option(None, "To be inferred and balanced by hybrid+; all by default.")
    num_people: int = option(30, "People whose history is attacked.", "--people", low=1)
    parts: tuple[str, ...] = option(
        (), "verification, history, attributes; all DATA allows.", choices=PARTS
    )
    releases: tuple[int, ...] = (1, 2, 3, 4, 5)  # of one person, in a history
