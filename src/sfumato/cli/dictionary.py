"""`sfumato dictionary build` and `sfumato dictionary info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.output import JsonFlag, emit_facts, emit_json, progress_bar

app = typer.Typer(
    help="Build public dictionaries, or say what one is made of.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.command()
def build(
    source: Annotated[
        Path, typer.Argument(help="A folder of public pictures, or a features file (.h5).")
    ],
    words: Annotated[int, typer.Option(help="How many words, 1,000 to 1,000,000.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to make.")],
    extractor: Annotated[str, typer.Option(help="What describes the pictures.")] = "sift",
    spherical: Annotated[
        bool, typer.Option("--spherical", help="Cluster directions, not positions.")
    ] = False,
    start: Annotated[str, typer.Option(help="kmeans++ or random.")] = "kmeans++",
    iterations: Annotated[int, typer.Option(help="Rounds of k-means.")] = 20,
    memory: Annotated[float, typer.Option(help="Gigabytes the build may use.")] = 4.0,
    seed: Annotated[int, typer.Option(help="Same seed, same words.")] = 0,
    index: Annotated[str, typer.Option(help="exact, graph, or auto by size.")] = "auto",
    strict: Annotated[
        bool, typer.Option("--strict", help="An unreadable picture is an error.")
    ] = False,
    max_keypoints: Annotated[
        int | None, typer.Option(help="Only the strongest of each picture.")
    ] = None,
    provenance: Annotated[
        str | None, typer.Option(help="Where the pictures come from, in words.")
    ] = None,
    built_from_map: Annotated[
        bool, typer.Option("--built-from-map", help="The pictures are those of a map.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Cluster the descriptors of public pictures into words.

    The words become public: never build from pictures that must stay private. Stopped, the
    same command goes on where it was.

    Example: sfumato dictionary build photos/ --words 16384 -o words
    """
    from sfumato.dictionary import build_dictionary

    with progress_bar(quiet=as_json) as progress:
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
            progress=progress,
        )
    _show(made.manifest, as_json=as_json)


@app.command()
def info(
    dictionary: Annotated[
        str, typer.Argument(metavar="PATH_OR_NAME", help="A dictionary, or a bundled name.")
    ],
    as_json: JsonFlag = False,
) -> None:
    """Check a dictionary and show its manifest.

    Example: sfumato dictionary info bsds-16k
    """
    from sfumato.dictionary import Dictionary

    _show(Dictionary.load(dictionary).manifest, as_json=as_json)


def _show(manifest: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        emit_json(manifest)
        return
    facts: dict[str, Any] = {
        "fingerprint": manifest["fingerprint"],
        "extractor": manifest["extractor"],
        "words": f"{manifest['num_words']} × {manifest['dimension']} {manifest['dtype']}, "
        f"{manifest['duplicate_words']} duplicates",
        "provenance": str(manifest["provenance"]),
        "from a map": "yes" if manifest["built_from_map"] else "no",
        "index": _index(manifest["index"]),
    }
    if manifest.get("levels"):
        facts["levels"] = ", ".join(f"{size:,}" for size in manifest["levels"]) + " words"
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
    emit_facts("Dictionary", facts)


def _index(index: dict[str, Any]) -> str:
    recall = index.get("recall_at_1")
    return str(index["kind"]) + ("" if recall is None else f", recall@1 {recall:.4f}")


def _unless_unknown(value: Any) -> str:
    return "unknown" if value is None else str(value)
