"""Embeddings: read, refused when they cannot be compared, and made fit for the mechanisms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from face_worlds import pooling_model
from onnx_models import constant_model
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.geometry import unit_vectors
from sfumato.core.randomness import SecureRandom
from sfumato.device.mechanisms import SubspaceLifting
from sfumato.faces.embeddings import (
    Embeddings,
    as_features,
    centre,
    centring_helps,
    check_vectors,
    load_embeddings,
)
from sfumato.faces.onnx_network import OnnxFaces


def test_files_of_embeddings_are_read(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32)
    given = Embeddings(vectors, ("a", "b", "c"), "dlib")
    np.savez(tmp_path / "e.npz", names=np.array(given.names), embeddings=vectors)
    assert load_embeddings(tmp_path / "e.npz", embedder="dlib") == given
    np.save(tmp_path / "e.npy", given.vectors)
    assert load_embeddings(tmp_path / "e.npy").names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([[1.0, 2.0], [0.0, 0.0]], "must not be zero, 1 of 2"),
        ([[1.0, np.nan]], "NaN or infinite"),
        ([1.0, 2.0], "must have shape"),
        ([[1.0]], "2 to 4096 numbers, got 1"),
        (np.array([["a", "b"]]), "must be numbers"),
    ],
)
def test_bad_embeddings_are_refused(values: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        check_vectors(values)


def test_names_must_fit_and_lengths_agree() -> None:
    with pytest.raises(InvalidInput, match="needs a name"):
        Embeddings(np.ones((2, 3), np.float32), ("a",), "dlib")
    with pytest.raises(InvalidInput, match="two agree"):
        Embeddings(np.ones((2, 3), np.float32), ("a", "a"), "dlib")
    with pytest.raises(Mismatch, match="must have 128 numbers"):
        check_vectors(np.ones((2, 3)), 128)


def test_files_that_are_no_embeddings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no file of embeddings"):
        load_embeddings(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", words=np.ones(3))
    with pytest.raises(InvalidInput, match="'names' and 'embeddings'"):
        load_embeddings(tmp_path / "other.npz")
    np.savez(tmp_path / "e.npz", names=np.array(["a"]), embeddings=np.ones((1, 4)))
    whole = (tmp_path / "e.npz").read_bytes()
    for data in (b"", b"\x80\x04N.", whole[: len(whole) // 2]):
        (tmp_path / "torn.npz").write_bytes(data)
        with pytest.raises(InvalidInput, match="not a readable"):
            load_embeddings(tmp_path / "torn.npz")
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInput, match="not a readable"):
        load_embeddings(tmp_path / "o.npy")


def test_centring_takes_away_what_all_faces_share() -> None:
    generator = np.random.default_rng(1)
    faces = generator.normal(size=(50, 16)) + 8
    seen = centre(faces, faces)
    assert np.linalg.norm(seen, axis=1) == pytest.approx(1)
    assert (unit_vectors(faces) @ unit_vectors(faces).T).mean() > 0.9
    assert abs((seen @ seen.T).mean()) < 0.1
    with pytest.raises(InvalidInput, match="at least one public face"):
        centre(faces, faces[:0])
    with pytest.raises(InvalidInput, match="has no direction"):
        centre(faces[:1], faces[:1])


def test_a_release_of_a_face_says_nothing_about_its_picture() -> None:
    features = as_features(np.random.default_rng(2).normal(size=(1, 16)), "dlib")
    release = SubspaceLifting("random", 2).release(features, rng=SecureRandom())
    assert release.image_size == (1, 1)
    assert release.keypoints.tolist() == [[0.0, 0.0]]
    with pytest.raises(InvalidInput, match="must not be zero"):
        as_features(np.zeros((1, 16)), "dlib")


def test_an_onnx_network_embeds_whole_pictures(tmp_path: Path) -> None:
    network = OnnxFaces(pooling_model(tmp_path / "pool.onnx"))
    picture = np.zeros((64, 64, 3), np.uint8)
    picture[:, :, 0] = 255
    vector = network.embed(picture)
    assert vector.shape == (192,)
    assert vector[:64] == pytest.approx(1)  # red blocks
    assert vector[64:] == pytest.approx(-1)
    with pytest.raises(InvalidInput, match="at least 16×16 pixels, got 1×1"):
        network.embed(np.zeros((1, 1, 3), np.uint8))


def test_networks_that_do_not_embed_are_refused(tmp_path: Path) -> None:
    flat = constant_model(tmp_path / "flat.onnx", [np.ones(4)], input_shape=(4,))
    with pytest.raises(InvalidInput, match="one input"):
        OnnxFaces(flat)
    wide = constant_model(tmp_path / "wide.onnx", [np.ones((1, 4))], input_shape=(1, 3, 64, 32))
    with pytest.raises(InvalidInput, match="squares of 3 colours"):
        OnnxFaces(wide)
    picture = np.full((20, 20), 9, np.uint8)
    zero = constant_model(tmp_path / "zero.onnx", [np.zeros((1, 4))])
    with pytest.raises(InvalidInput, match="must not be zero"):
        OnnxFaces(zero).embed(picture)
    many = constant_model(tmp_path / "many.onnx", [np.ones((2, 4))])
    with pytest.raises(InvalidInput, match="must answer one embedding"):
        OnnxFaces(many).embed(picture)


def test_numbers_too_large_for_an_embedding_are_refused_without_a_warning() -> None:
    with pytest.raises(InvalidInput, match="must be finite"):
        check_vectors(np.full((1, 4), 1e300))


def test_centring_is_chosen_on_the_public_people() -> None:
    generator = np.random.default_rng(0)
    who = tuple(f"p{i}" for i in range(12) for _ in range(5))
    people = np.repeat(generator.normal(size=(12, 16)), 5, axis=0)
    apart = people + 0.3 * generator.normal(size=(60, 16))
    common = np.full(16, 8.0)
    assert centring_helps(apart + common * (1 + 0.3 * generator.normal(size=(60, 1))), who)
    assert centring_helps(apart, ())  # nobody knows who they are
    assert centring_helps(apart[:3], ("a", "b", "c"))
