"""What a map costs in memory while queries by words are answered."""

from __future__ import annotations

from sfumato.core.errors import Mismatch
from sfumato.server.mapping.map import Map


def word_query_memory(world: Map, dictionary: str) -> dict[str, int]:
    """Bytes of every array that queries by words read, by name; descriptors are not among them.

    dictionary  fingerprint of one the map is filed under

    Arrays of a stored map are mapped files: the system keeps in memory what queries touch. Beside
    these, descriptors (128 bytes a feature for SIFT) are read once per scene, when the map's own
    error is learnt, and to file the map under another dictionary.

    >>> from sfumato.datasets import GallerySettings, load_gallery, map_scene
    >>> from sfumato.server.mapping.memory import word_query_memory
    >>> room = load_gallery(settings=GallerySettings(320, 240, num_mapping=8, num_queries=2))
    >>> world, words = map_scene(room), sf.Dictionary.load("bsds-16k").at(1024)
    >>> _ = world.word_index(words)
    >>> memory = word_query_memory(world, words.fingerprint)
    >>> memory["keypoints"] == 8 * len(world.keypoints)
    True
    """
    derived = world.derived_arrays()
    index = world.known_index(dictionary)
    if index is None:
        raise Mismatch(f"the map is not filed under dictionary {dictionary[:12]}…; file it first.")
    poses = world.rotations.nbytes + world.translations.nbytes + world.camera_of_image.nbytes
    return {
        "points": world.points.nbytes,
        "keypoints": world.keypoints.nbytes,
        "point of each feature": world.point_of_feature.nbytes,
        "image of each feature": derived["image_of_feature"].nbytes,
        "features of each point": derived["point_starts"].nbytes + derived["point_rows"].nbytes,
        "word index": index.starts.nbytes + index.rows.nbytes,
        "images": poses + world.feature_start.nbytes + derived["observations_per_image"].nbytes,
    }
