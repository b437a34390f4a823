"""Writes the photographs of the page into public/examples, with what lifting gives away of each.

python make_examples.py

The photographs are scikit-image's, in the public domain or CC0. NAME-lifted.sfr holds the
descriptors that the vertex attack got back from subspaces, as a plain release: the page paints it
with whatever network it has. The attack itself needs Python.
"""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import skimage.data

import sfumato as sf
from sfumato.adversary.invert.recovered import as_sent_plainly
from sfumato.adversary.recover.vertex import vertex_attack
from sfumato.device.mechanisms import SubspaceLifting
from sfumato.features import extract
from sfumato.features.image import load_image
from sfumato.privacy.known_truth import NUM_SUB_DATABASES, lift_picture

FOLDER = Path(__file__).parent / "public" / "examples"
NAMES = ("astronaut", "coffee", "chelsea", "rocket")
QUALITY = 88
DIMENSION, STRATEGY, KEYPOINTS, SEED = 4, "sub-hybrid", 1000, 0
#: Nearer than this to the true unit vector, a recovered descriptor is the descriptor.
EXACT = 1e-3


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    level = sf.Dictionary.load("open-64k").at(16_384).words[::2]
    count = len(level) // NUM_SUB_DATABASES * NUM_SUB_DATABASES
    words = sf.Dictionary.from_words(
        np.ascontiguousarray(level[:count]), extractor="sift", provenance="a part"
    )
    facts = {}
    for name in NAMES:
        path = FOLDER / f"{name}.jpg"
        picture = cv2.cvtColor(getattr(skimage.data, name)(), cv2.COLOR_RGB2BGR)
        cv2.imwrite(str(path), picture, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        features = extract(load_image(path), "sift")
        rows = np.flatnonzero(features.descriptors.any(axis=1))[:KEYPOINTS]
        solid = features.take(rows)
        mechanism = SubspaceLifting(STRATEGY, DIMENSION, words)
        lift = lift_picture(solid, mechanism, len(solid), SEED)
        recovered = vertex_attack(lift.release)
        right = np.linalg.norm(recovered.descriptors - lift.truth, axis=1) < EXACT
        plain = as_sent_plainly(lift.release, recovered)
        (FOLDER / f"{name}-lifted.sfr").write_bytes(plain.to_bytes())
        facts[name] = {
            "keypoints": len(solid),
            "dimension": DIMENSION,
            "strategy": STRATEGY,
            "bytes": len(lift.release.to_bytes()),
            "recovered": round(float(right.mean()), 4),
        }
        print(name, facts[name])
    (FOLDER / "lifted.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
