"""Does a private global descriptor help to localize in a map that grew? Words with and without it.

    $ sfumato extract photographs/ -o photographs.h5
    $ sfumato extract public/ -o public.h5
    $ python benchmarks/global_descriptor.py --data tum_desk --photos photographs.h5 \
        --public public.h5 --epsilon 5 --vector-epsilon 8

The map of a scene grows by photographs that no query shows. Every query is protected once; the
same words are asked without the vector, with it, with the vector before noise, and with the
scene's own images as the shortlist, which is the most that a ranking of images could give.
Releases are seeded, not for sending.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.core.randomness import SeededRandom
from sfumato.core.types import Localization, Pose
from sfumato.datasets.query_rule import QueryRule
from sfumato.datasets.scenes import open_scenes
from sfumato.device.global_descriptor import GlobalDescriptor
from sfumato.device.mechanisms import SubsetMechanism
from sfumato.dictionary import Dictionary
from sfumato.dictionary.bags import fit_bag_space
from sfumato.features.h5 import list_feature_names, read_features
from sfumato.server.global_retrieval import GlobalIndex
from sfumato.server.localize import localize
from sfumato_papers.ours.growth_map import grown_map

WITHIN = (0.05, 5.0)  # of the world's unit, degrees


def is_found(answer: Localization, truth: Pose) -> bool:
    if answer.pose is None:
        return False
    distance, degrees = answer.pose.error_to(truth)
    return distance <= WITHIN[0] and degrees <= WITHIN[1]


def auc(scores: Any, own: int) -> float:
    """How often an image of the scene is ranked before another one."""
    return float((scores[:own, None] > scores[None, own:]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--public", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("global-descriptor"))
    parser.add_argument("--hold-out", default="blocks:10/3")
    parser.add_argument("--dictionary", default="open-64k")
    parser.add_argument("--words", type=int, default=1024, help="of what is sent")
    parser.add_argument("--times", type=float, default=10)
    parser.add_argument("--epsilon", type=float, default=5)
    parser.add_argument("--vector-epsilon", type=float, default=8)
    parser.add_argument("--keep", type=int, help="strongest keypoints sent")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--ways", nargs="+", default=["words", "vector", "noiseless", "oracle"])
    given = parser.parse_args()
    scene = open_scenes((given.data,), given.work, queries=QueryRule.parse(given.hold_out))
    names = list_feature_names(given.photos)
    photographs = (read_features(given.photos, name) for name in names)
    world = grown_map(scene.world, photographs, given.times)
    whole = Dictionary.load(given.dictionary)
    words, own = whole.at(given.words), scene.world.num_images
    space, pictures = fit_bag_space(given.public, whole.at(1024), 32)
    sender = GlobalDescriptor(given.vector_epsilon, whole, space)
    index = GlobalIndex.build(world, whole, space)
    world.word_index(words)
    told = f"{world}, {own} images of the scene; the space: {pictures} public pictures"
    print(told, flush=True)
    for seed in given.seeds:
        found = dict.fromkeys(given.ways, 0)
        ranks: dict[str, list[float]] = {"vector": [], "noiseless": []}
        for number, query in enumerate(scene.queries):
            features = query.features
            if given.keep is not None:
                features = features.take(np.argsort(-features.scores, kind="stable")[: given.keep])
            rng = SeededRandom(1000 * seed + number)
            release = SubsetMechanism(given.epsilon, 1, words).release(
                features, rng=rng, camera=query.camera
            )
            bag = sender.vector(features)
            exact = space.apply(bag.descriptors, bag.extractor)[0]
            scores = {
                "vector": index.scores(sender.release(features, rng=rng)),
                "noiseless": np.sqrt(space.dimension) * (index.directions @ exact),
            }
            for name, values in scores.items():
                ranks[name].append(auc(values, own))
            assert query.truth is not None
            for way in found:
                answer = localize(
                    release,
                    world,
                    shortlist=np.arange(own) if way == "oracle" else None,
                    image_scores=scores.get(way),
                )
                found[way] += is_found(answer, query.truth)
            print(f"{number + 1} of {len(scene.queries)}: {found}", file=sys.stderr, flush=True)
        means = {name: round(float(np.mean(values)), 3) for name, values in ranks.items()}
        row = {"seed": seed, "queries": len(scene.queries), "found": found, "auc": means}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
