"""Affine embeddings, Fig. 4 and 5: faces are embedded once and kept on disk."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import InvalidInput, Mismatch, UnreadableImage
from sfumato.datasets.faces import FaceSet
from sfumato.faces.embeddings import FaceEmbedder, check_vectors, load_embeddings
from sfumato.features import load_image
from sfumato_papers.harness.outcomes import append_record, begin_records, read_records
from sfumato_papers.harness.work import tracked

_UNREADABLE = "the picture is missing or cannot be read"


@dataclass(frozen=True, eq=False)
class Embedded:
    """A set of faces with the embeddings of those that were found.

    vectors   (N, n) float32; rows of zeros where no face was found
    is_found  (N,) bool
    reasons   why the others have none, and how many
    """

    faces: FaceSet
    vectors: NDArray[np.float32]
    is_found: NDArray[np.bool_]
    reasons: dict[str, int]
    embedder: str

    def __len__(self) -> int:
        return len(self.faces)

    @property
    def fingerprint(self) -> str:
        """Of the names and the vectors: results of other embeddings are other results."""
        digest = hashlib.sha256("\n".join(self.faces.pictures).encode())
        digest.update(np.ascontiguousarray(self.vectors, dtype="<f4").tobytes())
        return digest.hexdigest()[:16]

    def filled(self) -> NDArray[np.float32]:
        """The vectors, with a stand-in where no face was found; `is_found` says where."""
        values = self.vectors.copy()
        values[~self.is_found, 0] = 1
        return values


def embed_faces(
    faces: FaceSet, embedder: FaceEmbedder, settings: dict[str, Any], path: Path
) -> Embedded:
    """Embed every picture; those in `path` are not done again. The file tells who is on them."""
    head = {"kind": "embeddings", "data": faces.name, "embedder": embedder.name, **settings}
    begin_records(path, head, "embeddings of other faces or settings")
    known = {str(one["name"]): one for one in read_records(path) if one.get("kind") == "face"}
    for name in tracked(faces.pictures, "embedding faces"):
        if name not in known:
            known[name] = {"kind": "face", "name": name, **_embedded(faces.root / name, embedder)}
            if known[name].get("reason") != _UNREADABLE:  # it may be there next time
                append_record(path, known[name])
    rows = [known[name] for name in faces.pictures]
    return _gathered(faces, [row.get("embedding") for row in rows],
                     [str(row.get("reason", "")) for row in rows], embedder.name)  # fmt: skip


def _embedded(path: Path, embedder: FaceEmbedder) -> dict[str, Any]:
    try:
        vector = embedder.embed(load_image(path))
    except UnreadableImage:
        return {"reason": _UNREADABLE}
    except InvalidInput as error:
        return {"reason": str(error).partition(";")[0]}
    return {"embedding": [float(f"{value:.7g}") for value in check_vectors(vector[None])[0]]}


def given_faces(faces: FaceSet, path: str | Path) -> Embedded:
    """Embeddings computed elsewhere, by the names of the pictures or in their order (.npy)."""
    given = load_embeddings(path)
    place = {name: row for row, name in enumerate(given.names)}
    if Path(path).suffix == ".npy":
        if len(given) != len(faces):
            raise Mismatch(
                f"{path} must hold one embedding for each of the {len(faces)} pictures, it holds "
                f"{len(given)}."
            )
        place = {name: row for row, name in enumerate(faces.pictures)}
    vectors = [
        given.vectors[place[name]].tolist() if name in place else None for name in faces.pictures
    ]
    reasons = ["" if vector else "the file has no embedding of its name" for vector in vectors]
    return _gathered(faces, vectors, reasons, given.embedder)


def _gathered(
    faces: FaceSet, vectors: list[list[float] | None], reasons: list[str], embedder: str
) -> Embedded:
    is_found = np.array([vector is not None for vector in vectors], dtype=np.bool_)
    lengths = {len(vector) for vector in vectors if vector is not None}
    if len(lengths) != 1:
        raise InvalidInput(
            "no face was found in any picture; say that they are cropped, or give others."
            if not lengths
            else f"embeddings must be of one length, got {sorted(lengths)}; begin anew."
        )
    values = np.zeros((len(faces), lengths.pop()), dtype=np.float32)
    values[is_found] = check_vectors([vector for vector in vectors if vector is not None])
    counts = dict(Counter(reason for reason in reasons if reason))
    return Embedded(faces, values, is_found, counts, embedder)


def problem_of(embedded: Embedded, public: int, centred: bool) -> dict[str, Any]:
    """What a file of results is about; no path of this machine."""
    return {
        "kind": "faces",
        "format": 1,
        "data": embedded.faces.name,
        "layout": embedded.faces.layout,
        "pictures": len(embedded),
        "found": int(embedded.is_found.sum()),
        "reasons": embedded.reasons,
        "embedder": embedded.embedder,
        "dimension": int(embedded.vectors.shape[1]),
        "public": public,
        "centred": centred,
        "embeddings": embedded.fingerprint,
    }
