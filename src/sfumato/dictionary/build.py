"""From public pictures to a dictionary: sample, cluster, round, index, describe, store."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import check_choice, check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import need
from sfumato.core.progress import Progress, silent
from sfumato.dictionary.dictionary import Dictionary
from sfumato.dictionary.index import INDEX_KINDS
from sfumato.dictionary.kmeans import Clustering, cluster
from sfumato.dictionary.levels import balance, compact, default_sizes, make_levels
from sfumato.dictionary.partial import Partial
from sfumato.dictionary.sampling import Sample, sample_array, sample_capacity, sample_pictures
from sfumato.dictionary.seeding import STARTS
from sfumato.dictionary.sources import Source, open_source
from sfumato.dictionary.spread_sampling import forget_parts, sample_on_workers
from sfumato.dictionary.vectors import Floats, Space, nearest_exact, squared_norms
from sfumato.dictionary.words import check_provenance
from sfumato.execution import current

MAX_WORDS = 1_000_000
#: Descriptors on which error and recall are measured, against exact search.
_MEASURED = 16_384


def build_dictionary(
    source: str | Path | NDArray[Any],
    *,
    num_words: int,
    output: str | Path | None = None,
    extractor: str | None = None,
    max_keypoints: int | None = None,
    image_ids: Any = None,
    spherical: bool = False,
    start: str = "kmeans++",
    iterations: int = 20,
    memory_gb: float = 4.0,
    seed: int = 0,
    index: str = "auto",
    strict: bool = False,
    built_from_map: bool = False,
    provenance: str | None = None,
    licence: str | None = None,
    progress: Progress = silent,
) -> Dictionary:
    """Cluster the descriptors of public pictures into `num_words` words.

    source          a folder of pictures, a features file (.h5), or (N, D) descriptors, for
                    which `image_ids` may say which picture each came from
    extractor       what describes the pictures, "sift" if left out; of a features file any name,
                    or what the file says
    num_words       1,000 to 1,000,000 for real use; from 2 on for trials
    output          the folder to store the dictionary in. A stopped build leaves
                    `<output>.partial`; the same call goes on from there and gives the same
                    words as a run that was never stopped
    max_keypoints   only the strongest of each picture
    spherical       cluster directions; words then get the descriptors' mean length
    memory_gb       bounds words and sample, which is uniform over all descriptors of all
                    pictures; about .1 GB of working space comes on top
    index           "exact", "cells", "graph" or "auto": cells from 32,768 words on
    strict          an unreadable picture is an error instead of being left out and counted
    built_from_map  say True when the pictures are those of a map: it goes in the manifest, as
                    `provenance` and `licence` of the pictures do, in words

    The words become public. Never build from pictures that must stay private; words that
    only one picture contributed to are counted in the manifest.

    >>> descriptors = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    >>> sf.build_dictionary(descriptors, num_words=16, extractor="mine")
    Dictionary(16 × 8 float32, mine, 439c3ccbbfe6…)
    """
    need("server", "build_dictionary", "scipy", "threadpoolctl")
    recipe = Recipe(
        num_words=check_count("num_words", num_words, low=2, high=MAX_WORDS),
        spherical=spherical,
        start=check_choice("start", start, STARTS),
        iterations=check_count("iterations", iterations, low=1, high=1000),
        seed=check_count("seed", seed, low=0),
        index=check_choice("index", index, INDEX_KINDS),
    )
    opened = open_source(
        source, extractor, max_keypoints=max_keypoints, image_ids=image_ids, strict=strict
    )
    if spherical and opened.metric == "hamming":
        raise InvalidInput(
            f"spherical=True needs descriptors with a length, {opened.extractor} gives bits; "
            "leave it out."
        )
    capacity = sample_capacity(memory_gb, num_words, opened.row_bytes, opened.dimension)
    story = {
        "provenance": check_provenance(opened.name if provenance is None else provenance),
        "built_from_map": bool(built_from_map),
        "extractor_settings": {"max_keypoints": max_keypoints},
        **({} if licence is None else {"licence": check_provenance(licence, "licence")}),
    }
    if output is None:
        return _make(opened, recipe, capacity, story, None, progress)
    target = Path(output)
    if target.exists():
        raise InvalidInput(f"{target} exists already; choose another name or remove it.")
    settings = {**recipe.decides_words(), "capacity": capacity, "source": opened.identity()}
    with Partial(target, settings) as partial:
        made = _make(opened, recipe, capacity, story, partial, progress)
        made.save(target)
        partial.remove()
    return made


@dataclass(frozen=True)
class Recipe:
    """How descriptors become words."""

    num_words: int
    spherical: bool
    start: str
    iterations: int
    seed: int
    index: str

    def decides_words(self) -> dict[str, Any]:
        """The settings a stopped build may not change; more iterations only go further."""
        free = ("iterations", "index")
        return {name: value for name, value in asdict(self).items() if name not in free}


def _make(
    source: Source,
    recipe: Recipe,
    capacity: int,
    story: dict[str, Any],
    partial: Partial | None,
    progress: Progress,
) -> Dictionary:
    space = Space(source.metric, recipe.spherical)
    sample = _take_sample(source, capacity, recipe.seed, partial, progress)
    found = cluster(
        sample.descriptors,
        recipe.num_words,
        space=space,
        start=recipe.start,
        iterations=recipe.iterations,
        seed=recipe.seed,
        progress=progress,
        keep=None if partial is None else partial.keep,
        folder=partial.folder if partial is not None and current().is_spread else None,
        resume=None if partial is None else partial.resume(sample),
    )
    words = round_words(found.words, sample.descriptors, space)
    weights = compact(np.maximum(np.bincount(found.assignment, minlength=len(words)), 1))
    sizes = default_sizes(len(words))
    levels = make_levels(words, source.metric, sizes, weights, progress=progress)
    progress("indexing", 0, 1)
    dictionary = Dictionary.from_words(
        words,
        levels=levels,
        weights=weights if levels else None,
        extractor=source.extractor,
        metric=source.metric,
        index=recipe.index,
        facts={
            "num_images": sample.num_images,
            "unreadable_images": sample.unreadable,
            "descriptors_seen": sample.seen,
            "descriptors_used": len(sample.descriptors),
            "clustering": {
                "method": "spherical k-means" if recipe.spherical else "k-means",
                "start": recipe.start,
                "iterations": found.iteration,
                "seed": recipe.seed,
                "reseeded_empty_words": found.reseeded,
            },
            "single_image_words": _single_image_words(found, sample),
            "balance": {
                str(size): round(balance(groups, weights), 3)
                for size, groups in ({**levels, len(words): np.arange(len(words))}).items()
            },
        },
    )
    dictionary = _measure(dictionary.with_facts(**story), sample, recipe.seed)
    progress("indexing", 1, 1)
    return dictionary


def round_words(words: Floats, descriptors: NDArray[Any], space: Space) -> NDArray[Any]:
    """Words in the dtype of the descriptors: whole numbers, packed bits, or float32."""
    if space.metric == "hamming":
        return np.packbits(words >= 0.5, axis=1)
    if space.spherical:
        # Directions have length 1; stored words must be as long as what is compared to them.
        sample = descriptors[:: max(1, len(descriptors) // _MEASURED)].astype(np.float32)
        words = words * np.sqrt(squared_norms(sample)).mean()
    if descriptors.dtype == np.uint8:
        return np.clip(np.rint(words), 0, 255).astype(np.uint8)
    return words


def count_single_image_words(
    assignment: NDArray[np.int32], image_ids: NDArray[np.int32], num_words: int
) -> int:
    """How many words have descriptors, all of them from one picture."""
    low = np.full(num_words, np.iinfo(np.int32).max, dtype=np.int32)
    high = np.full(num_words, np.iinfo(np.int32).min, dtype=np.int32)
    np.minimum.at(low, assignment, image_ids)
    np.maximum.at(high, assignment, image_ids)
    return int(np.count_nonzero(low == high))


def _single_image_words(found: Clustering, sample: Sample) -> dict[str, Any] | None:
    if sample.image_ids is None:
        return None
    num_words = len(found.words)
    count = count_single_image_words(found.assignment, sample.image_ids, num_words)
    return {"count": count, "share": round(count / num_words, 6)}


def _take_sample(
    source: Source, capacity: int, seed: int, partial: Partial | None, progress: Progress
) -> Sample:
    sample = None if partial is None else partial.load_sample()
    if sample is None:
        # A stream of its own: clustering starts the same whether the sample is new or kept.
        rng = np.random.default_rng([seed, 1])
        if source.array is not None:
            sample = sample_array(source.array, source.image_ids, capacity, rng)
        elif partial is None or not current().is_spread:
            sample = sample_pictures(source.pictures(progress), capacity, rng)
        else:
            sample = sample_on_workers(source, capacity, rng, partial.folder / "parts", progress)
        sample = replace(sample, unreadable=len(source.unreadable))
        if partial is not None:
            partial.save_sample(sample)
            if current().is_spread:  # mapped from the disk, by workers too
                sample = partial.load_sample() or sample
                forget_parts(partial.folder / "parts")
    return sample


def _measure(dictionary: Dictionary, sample: Sample, seed: int) -> Dictionary:
    """Add error and recall to the manifest, against exact search on part of the sample."""
    total = len(sample.descriptors)
    rng = np.random.default_rng([seed, 2])
    rows = np.sort(rng.choice(total, size=min(_MEASURED, total), replace=False))
    descriptors = np.asarray(sample.descriptors[rows])
    space = Space(dictionary.metric)
    _, distances = nearest_exact(descriptors, dictionary.words, space)
    answer = space.vectors(dictionary.words[dictionary.nearest(descriptors)])
    # Another word at the same distance is as near: ties count as found.
    reached = squared_norms(space.vectors(descriptors) - answer)
    recall = float((reached <= distances * (1 + 1e-5) + 1e-6).mean())
    return dictionary.with_facts(
        mean_quantisation_error=float(distances.mean(dtype=np.float64)),
        measured_on=len(rows),
        index={"kind": dictionary.index.kind, "recall_at_1": round(recall, 6)},
    )
