"""`sfumato dictionary build` and `sfumato dictionary info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from sfumato.cli import options as opt
from sfumato.cli.command import refuse_given
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit, long_work


def build(
    source: Annotated[Path, argument("SOURCE", "A folder of public pictures, or features (.h5).")],
    *,
    words: Annotated[int, option("How many words, 1,000 to 1,000,000.")],
    output: Annotated[Path, output("The dictionary to make.", "FOLDER")],
    extractor: Annotated[
        str | None,
        option(
            "What describes the pictures, or made the features.",
            metavar="NAME",
            shown="sift, or what the file says",
        ),
    ] = None,
    spherical: Annotated[bool, option("Cluster directions, not positions.")] = False,
    start: Annotated[str, option("kmeans++ or random.")] = "kmeans++",
    iterations: Annotated[int, option("Rounds of k-means.")] = 20,
    memory: Annotated[float, option("Gigabytes the build may use.")] = 4.0,
    seed: opt.Seed = 0,
    index: Annotated[str, option("exact, cells, graph, or auto by size.")] = "auto",
    strict: opt.Strict = False,
    max_keypoints: opt.MaxKeypoints = None,
    provenance: Annotated[
        str | None, option("Where the pictures come from, in words.", shown="unknown")
    ] = None,
    licence: Annotated[
        str | None, option("Who may use the pictures, in words.", shown="unknown")
    ] = None,
    built_from_map: Annotated[bool, option("The pictures are those of a map.")] = False,
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """The words become public: never build from pictures that must stay private. Stopped, the
    same command goes on where it was.

    Example: sfumato dictionary build photos/ --words 16384 -o words
    """
    from sfumato.dictionary import build_dictionary

    if source.is_file():
        refuse_given("is for pictures, and this is a file of features", "strict")
    with long_work() as progress, running.started():
        made = build_dictionary(
            source,
            num_words=words,
            output=output,
            extractor=extractor,
            max_keypoints=max_keypoints,
            spherical=spherical,
            start=start,
            iterations=iterations,
            memory_gb=memory,
            seed=seed,
            index=index,
            strict=strict,
            built_from_map=built_from_map,
            provenance=provenance,
            licence=licence,
            progress=progress,
        )
    _show(made.manifest, as_json=as_json)


def info(
    dictionary: Annotated[str, argument("DICTIONARY", "A dictionary's folder, or a bundled name.")],
    as_json: JsonFlag = False,
) -> None:
    """Example: sfumato dictionary info open-64k"""
    from sfumato.dictionary import Dictionary

    _show(Dictionary.load(dictionary).manifest, as_json=as_json)


def _show(manifest: dict[str, Any], *, as_json: bool) -> None:
    facts: dict[str, Any] = {
        "fingerprint": manifest["fingerprint"],
        "extractor": manifest["extractor"],
        "words": f"{manifest['num_words']} × {manifest['dimension']} {manifest['dtype']}, "
        f"{manifest['duplicate_words']} duplicates",
        "provenance": str(manifest["provenance"]),
        "licence": str(manifest.get("licence", "unknown")),
        "from a map": "yes" if manifest["built_from_map"] else "no",
        "index": _index(manifest["index"]),
    }
    if manifest.get("levels"):
        facts["levels"] = ", ".join(f"{size:,}" for size in manifest["levels"]) + " words"
    if "balance" in manifest:  # 1: all words are met equally often
        sizes = sorted(manifest["balance"].items(), key=lambda item: int(item[0]))
        shares = (f"{int(size):,} {share:.2f}" for size, share in sizes)
        facts["balance"] = ", ".join(shares)
    # Only built dictionaries know the rest; one of given words does not.
    if "clustering" in manifest:
        clustering, single = manifest["clustering"], manifest["single_image_words"]
        facts |= {
            "pictures": _unless_unknown(manifest["num_images"]),
            "left out": f"{manifest['unreadable_images']} unreadable",
            "descriptors": f"{manifest['descriptors_used']} used of {manifest['descriptors_seen']}",
            "clustering": f"{clustering['method']}, {clustering['start']}, "
            f"{clustering['iterations']} iterations, seed {clustering['seed']}, "
            f"{clustering['reseeded_empty_words']} empty words placed anew",
            "error": f"{manifest['mean_quantisation_error']:.4g} mean squared distance",
            "single-picture": "unknown"
            if single is None
            else f"{single['count']} words ({single['share']:.2%}) come from one picture only",
        }
    emit(as_json, manifest, "Dictionary", facts)


def _index(index: dict[str, Any]) -> str:
    recall = index.get("recall_at_1")
    return str(index["kind"]) + ("" if recall is None else f", recall@1 {recall:.4f}")


def _unless_unknown(value: Any) -> str:
    return "unknown" if value is None else str(value)
