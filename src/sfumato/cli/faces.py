"""`sfumato faces`: one embedding, one ε; a server compares it with the enrolled one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.cli.accounting import Account, announcement, ledger_facts, ledger_text
from sfumato.cli.command import applies
from sfumato.cli.files import check_output, read_release
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, begin_output, emit
from sfumato.cli.protect import CHARGED, ExplainFlag, check_request, tell_written
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.releases import VectorRelease
from sfumato.core.vector_space import VectorSpace

_ARRAYS = (".npz", ".npy")
Face = Annotated[
    Path, argument("FACE", "A picture of one face, or a file .npy or .npz with one embedding.")
]
Embedder = Annotated[
    str, option("Whose embeddings a file holds; pictures are embedded by dlib.", metavar="NAME")
]
Mirrored = Annotated[
    bool, option("Average each face and its mirror image; do it on both sides or on none.")
]
SpaceFile = Annotated[
    Path | None, option("The public map, of sfumato faces space.", shown="none: sent as they are")
]


def space(
    public: Annotated[
        Path, argument("PUBLIC", "Embeddings of public faces: .npy or .npz, a row for each.")
    ],
    *,
    output: Annotated[Path, output("The space to write (.npz).")],
    dimension: Annotated[
        int | None, option("Numbers to keep of an embedding.", shown="all")
    ] = None,
    further: Annotated[
        Path | None,
        option("Further public faces of another kind, which help to choose directions."),
    ] = None,
    embedder: Embedder = "dlib",
    as_json: JsonFlag = False,
) -> None:
    """Embeddings are seen from the mean of public faces, along the directions in which these
    differ most. The file is public: give it to devices and to the server.

    Example: sfumato faces space public.npz --dimension 32 -o space.npz
    """
    from sfumato.faces.embeddings import load_embeddings

    check_output(output, ".npz")
    known = load_embeddings(public, embedder=embedder)
    more = None if further is None else load_embeddings(further, embedder=embedder).vectors
    made = VectorSpace.fit(known.vectors, dimension, extractor=embedder, further=more)
    made.save(output)
    facts = {
        "public_faces": len(known),
        "further_faces": 0 if more is None else len(more),
        "numbers": len(made.mean),
        "dimension": made.dimension,
        "fingerprint": made.fingerprint,
    }
    shown = {
        "made from": f"{len(known):,} public faces"
        + ("" if more is None else f" and {len(more):,} further ones"),
        "keeps": f"{made.dimension} of {len(made.mean)} numbers",
        "fingerprint": made.fingerprint,
    }
    emit(as_json, {**facts, "output": str(output)}, f"wrote {output}", shown)


@applies(CHARGED)
def protect(
    face: Face,
    *,
    epsilon: Annotated[float, option("ε of the whole embedding.")],
    output: Annotated[Path | None, output("The release to write (.sfr).", shown="none")] = None,
    space: SpaceFile = None,
    embedder: Embedder = "dlib",
    mirrored: Mirrored = False,
    account: Account,
    explain_only: ExplainFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """The embedding becomes a point of a sphere that is probably near it (PrivUnit): ε for all of
    it. Written with -o it is charged first; sending the same file again costs nothing more.

    Example: sfumato faces protect me.jpg --epsilon 10 --space space.npz -o me.sfr
    """
    from sfumato.core.randomness import SecureRandom
    from sfumato.core.storage import NewFile
    from sfumato.core.vector_space import vectors_as_features
    from sfumato.device.mechanisms import PrivUnit
    from sfumato.device.protect import keep_release, release_size, send

    check_request(output, explain_only, account)
    public = None if space is None else VectorSpace.load(space)
    vector = read_face(face, embedder, mirrored)
    mechanism = PrivUnit(epsilon, None if public else vector.shape[1], space=public)
    features = vectors_as_features(vector, embedder)
    event, rng, ledger = mechanism.event(features), SecureRandom(), None
    if output is None:
        release = send(features, mechanism, rng=rng)
    else:
        with NewFile(output) as file:
            file.reserve(release_size(features, mechanism))
            ledger = account.open()
            begin_output(as_json, announcement(ledger))
            release = send(features, mechanism, rng=rng, ledger=ledger)
            keep_release(file, release.to_bytes())
    facts: dict[str, Any] = {
        "mechanism": event.mechanism,
        "bytes": len(release.to_bytes()),
        "unit": event.unit,
        "epsilon": epsilon,
        "dimension": mechanism.dimension,
        "cap_bits": mechanism.cap_bits,
        "cap_sent_probability": mechanism.keep_probability,
        "not_protected": list(_NOT_PROTECTED),
    }
    shown = {
        "leaves the device": f"{facts['bytes']:,} bytes: one of 2^{mechanism.sampler.length} "
        "directions",
        "guarantee": f"ε = {epsilon:g} for the whole embedding: whatever it was, any answer is at "
        f"most {np.exp(epsilon):,.0f} times as likely as for another one",
        "use": f"with probability {mechanism.keep_probability:.3f} the answer is one of the "
        f"nearest 2^-{mechanism.cap_bits} of all directions",
        "not protected": ", ".join(_NOT_PROTECTED),
    }
    if output is not None:
        facts["ledger"] = ledger_facts(ledger, event)
        shown |= ledger_text(facts["ledger"], event)
    tell_written(facts, shown, output, as_json)


_NOT_PROTECTED = (
    "that somebody authenticates, when and from where",
    "the name of the network",
    "the server's answer",
)


def verify(
    enrolled: Annotated[
        Path, argument("ENROLLED", "The enrolled face: a picture, an embedding, or a release.")
    ],
    release: Annotated[Path, argument("RELEASE", "What is compared with it (.sfr).")],
    *,
    space: SpaceFile = None,
    embedder: Embedder = "dlib",
    mirrored: Mirrored = False,
    as_json: JsonFlag = False,
) -> None:
    """Prints the cosine of the two directions. Choose the threshold on faces that you know, sent
    in the same way: docs/faces.md has figures.

    Example: sfumato faces verify enrolled.jpg me.sfr --space space.npz
    """
    public = None if space is None else VectorSpace.load(space)
    sent = read_vector(release)
    if public is not None and sent.space != public.fingerprint:
        raise Mismatch(
            f"{release} was sent through another space than {space}; give the one of the device."
        )
    if public is None and sent.space != "0" * 64 and enrolled.suffix != ".sfr":
        raise Mismatch(f"{release} was sent through a space; give its file with --space.")
    if enrolled.suffix == ".sfr":
        check_mirrored(enrolled, mirrored)
        other = read_vector(enrolled)
        if (other.space, other.dimension) != (sent.space, sent.dimension):
            raise Mismatch("the two releases were sent through different spaces.")
        own = other.directions()
    else:
        own = read_face(enrolled, embedder, mirrored)
        own = own / np.linalg.norm(own) if public is None else public.apply(own, embedder)
    if own.shape[1] != sent.dimension:
        raise Mismatch(
            f"the enrolled face has {own.shape[1]} numbers, the release {sent.dimension}."
        )
    cosine = float(own[0] @ sent.directions()[0])
    chance = 1 / np.sqrt(sent.dimension)
    facts = {"cosine": cosine, "by_chance": float(chance), "epsilon": sent.epsilon}
    shown = {
        "cosine": f"{cosine:.3f}; of unrelated directions 0 ± {chance:.3f}",
        "sent with": f"ε = {sent.epsilon:g} for one vector",
    }
    emit(as_json, facts, f"{cosine / chance:.1f} standard deviations above chance", shown)


def read_vector(path: Path) -> VectorRelease:
    """The release of one vector."""
    found = read_release(path, purpose="compare")
    if not isinstance(found, VectorRelease) or len(found) != 1:
        raise InvalidInput(
            f"{path} must hold one private unit vector, as sfumato faces protect writes it; it "
            f"holds {len(found)} rows of kind {found.kind}."
        )
    return found


def check_mirrored(path: Path, mirrored: bool) -> None:
    if mirrored and path.suffix in (*_ARRAYS, ".sfr"):
        raise InvalidInput(f"--mirrored is for pictures, {path} holds none; leave it out.")


def read_face(path: Path, embedder: str, mirrored: bool) -> NDArray[np.float64]:
    """(1, n): the one embedding of a file, or of the face of a picture."""
    from sfumato.faces.embeddings import check_vectors, load_embeddings

    check_mirrored(path, mirrored)
    if path.suffix in _ARRAYS:
        known = load_embeddings(path, embedder=embedder)
        if len(known) != 1:
            raise InvalidInput(f"{path} must hold one embedding, it holds {len(known)}.")
        return known.vectors.astype(np.float64)
    from sfumato.faces.dlib_network import DlibFaces
    from sfumato.features import load_image

    if embedder != "dlib":
        raise InvalidInput(
            f"pictures are embedded by dlib, got --embedder {embedder}; give embeddings (.npy)."
        )
    return check_vectors(DlibFaces(mirrored=mirrored).embed(load_image(path))[None]).astype(
        np.float64
    )
