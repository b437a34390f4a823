"""`sfumato classify`: learn from randomized codes, and say what a picture shows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from sfumato.classification.files import (
    ENCODERS,
    LEARNERS,
    encoder_class,
    learner_class,
    learner_name,
    load_encoder,
    load_model,
    save_encoder,
    save_model,
)
from sfumato.cli.code_files import (
    encode,
    holds_releases,
    one_sentence,
    read_code_releases,
    read_codes,
    read_labels,
    read_table,
)
from sfumato.cli.output import JsonFlag, emit_facts, emit_json
from sfumato.cli.values import whole_numbers
from sfumato.core.codes import Codes, group_releases
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.storage import write_file

if TYPE_CHECKING:
    from sfumato.classification.counting import CountingClassifier

app = typer.Typer(
    help="Learn from pictures that were randomized before they were shared.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

#: The encoder that is the same whatever pictures it is shown.
FIXED = ("orientations", "orientation-bits")
NOT_PROTECTED = ("the labels", "how many codes were sent and where they belong")


@app.command("encoder")
def fit_encoder(
    pictures: Annotated[Path, typer.Argument(help="Pictures N×h×w (idx, .npy, .npz), not hidden.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The encoder's file (.npz).")],
    labels: Annotated[
        Path | None, typer.Option(help="Their labels (idx, .npy, .npz), for encoders that learn.")
    ] = None,
    kind: Annotated[
        str, typer.Option(help=f"{', '.join(ENCODERS)}; {' and '.join(FIXED)} learn nothing.")
    ] = "dcaconv",
    filters: Annotated[
        str, typer.Option(help="dcaconv: L1,L2; 5,4 gives codes of 16 values.")
    ] = "5,1",
    scatter: Annotated[str, typer.Option(help="dcaconv: position or paper.")] = "position",
    orientations: Annotated[
        int | None, typer.Option(help="orientations (4) and orientation-bits (16): how many.")
    ] = None,
    stride: Annotated[int, typer.Option(help="The same: pixels between cells.")] = 2,
    margin: Annotated[int, typer.Option(help="orientations: pixels without cells.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Fit an encoder on pictures that need no protection; devices then share it.

    Example: sfumato classify encoder train-images-idx3-ubyte --labels train-labels-idx1-ubyte
    -o encoder.npz
    """
    _refuse_existing(output)
    options: dict[str, Any] = {}
    if kind == "dcaconv":
        options = {"num_filters": whole_numbers("filters", filters), "scatter": scatter}
    elif kind == "orientations":
        options = {
            "num_orientations": 4 if orientations is None else orientations,
            "stride": stride,
            "margin": margin,
        }
    elif kind == "orientation-bits":
        options = {"num_directions": 16 if orientations is None else orientations, "stride": stride}
    empty = encoder_class(kind)(**options)
    if labels is None and kind == "dcaconv":
        raise InvalidInput("--labels FILE is needed: dcaconv learns from labelled pictures.")
    images = read_table(pictures, "pictures", "images", "array")
    names = None if labels is None else read_labels(labels, len(images))
    with one_sentence():
        made = empty.fit(images, names)
    save_encoder(output, made)
    channels, height, width = made.map_shape_
    facts = {
        "encoder": made.name,
        "codes_per_picture": channels * height * width,
        "map_shape": [channels, height, width],
        "values_per_code": made.num_values_,
        "pictures": len(images),
        "not_protected": ["the size of the pictures"]
        if kind in FIXED
        else ["the pictures the encoder was fitted on"],
        "output": str(output),
    }
    _emit(f"wrote {output}", facts, as_json)


@app.command("train")
def train(
    releases: Annotated[Path, typer.Argument(help="Releases of codes (.sfr), no picture.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The classifier's file (.npz).")],
    labels: Annotated[
        Path | None, typer.Option(help="Labels (idx, .npy, .npz), where releases carry none.")
    ] = None,
    learner: Annotated[str, typer.Option(help=f"{', '.join(LEARNERS)}.")] = "naive-bayes",
    alpha: Annotated[float, typer.Option(help="naive-bayes: smoothing, in clean answers.")] = 1.0,
    spatial: Annotated[
        float, typer.Option(help="naive-bayes: neighbouring cells share answers; σ in cells.")
    ] = 0.0,
    encoder: Annotated[
        Path | None, typer.Option(help="The encoder's file: tells the shape of the code map.")
    ] = None,
    update: Annotated[
        Path | None, typer.Option(help="Learn on from this classifier, with its settings.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Learn a classifier from releases. What it protects was decided when they were made.

    Example: sfumato classify train releases.sfr --labels labels.npy -o model.npz
    """
    _refuse_existing(output)
    shape = None if encoder is None else load_encoder(encoder).map_shape_
    sent = list(read_code_releases(releases))
    if not sent:
        raise InvalidInput(f"{releases} holds no release; nothing was learnt.")
    names = _labels(sent, labels)
    groups = group_releases(sent, map_shape=shape)
    worst = max(codes.picture_epsilon for codes, _ in groups)
    if update is None:
        made = _learner(learner, alpha, spatial, shape)
        encoder_name = sent[0].encoder
    else:
        made, encoder_name, before = load_model(update)
        worst = max(worst, before)
        _check_encoder(encoder_name, sent[0].encoder)
    for codes, rows in groups:
        made.partial_fit(codes, names[rows], None if hasattr(made, "counts_") else np.unique(names))
    save_model(output, made, encoder=encoder_name, picture_epsilon=worst)
    facts = {"pictures": len(sent), **_describe(made, worst), "output": str(output)}
    _emit(f"wrote {output}", facts, as_json)


@app.command("predict")
def predict(
    model: Annotated[Path, typer.Argument(help="A classifier's file (.npz).")],
    pictures: Annotated[Path, typer.Argument(help="Pictures, codes or releases to classify.")],
    encoder: Annotated[Path | None, typer.Option(help="The encoder's file, for pictures.")] = None,
    labels: Annotated[Path | None, typer.Option(help="True labels: prints the accuracy.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where the classes are written (.npy).")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Classify pictures that are here, or releases that were sent.

    Example: sfumato classify predict model.npz t10k-images-idx3-ubyte --encoder encoder.npz
    """
    if output is not None:
        _refuse_existing(output)
    made, encoder_name, worst = load_model(model)
    found = _predicted(made, encoder_name, pictures, encoder)
    facts: dict[str, Any] = {"pictures": len(found)}
    if labels is not None:
        truth = read_labels(labels, len(found))
        facts["accuracy"] = float((truth == found).mean()) if len(found) else None
    if output is not None:
        write_file(output, _npy(found))
        facts["output"] = str(output)
    elif as_json:
        facts["classes"] = found.tolist()
    else:
        names, counts = np.unique(found, return_counts=True)
        facts["found"] = ", ".join(f"{n} × {name}" for name, n in zip(names, counts, strict=True))
    facts |= {"learnt_from": _describe(made, worst)} if as_json else _describe(made, worst)
    _emit("classified", facts, as_json)


def _learner(
    name: str, alpha: float, spatial: float, shape: tuple[int, int, int] | None
) -> CountingClassifier:
    options = {"alpha": alpha, "spatial": spatial} if name == "naive-bayes" else {}
    made: CountingClassifier = learner_class(name)(map_shape=shape, **options)
    return made


def _labels(sent: list[Any], labels: Path | None) -> NDArray[np.int64]:
    if labels is not None:
        return read_labels(labels, len(sent))
    missing = sum(release.label is None for release in sent)
    if missing:
        raise InvalidInput(f"{missing} of {len(sent)} releases carry no label; give --labels FILE.")
    return np.array([release.label for release in sent], dtype=np.int64)


def _predicted(
    made: CountingClassifier, encoder_name: str, pictures: Path, encoder: Path | None
) -> NDArray[Any]:
    if holds_releases(pictures):
        groups = group_releases(read_code_releases(pictures))
        _check_encoder(encoder_name, groups[0][0].encoder)
        found = np.empty(sum(len(rows) for _, rows in groups), dtype=made.classes_.dtype)
        for codes, rows in groups:
            found[rows] = made.predict(codes)
        return found
    if encoder is not None:
        tool = load_encoder(encoder)
        _check_encoder(encoder_name, tool.name)
        return made.predict(_clean(encode(tool, pictures), tool.num_values_))
    values, num_values, name = read_codes(pictures, None, made.num_values_)
    _check_encoder(encoder_name, name)
    return made.predict(_clean(values, num_values))


def _clean(values: NDArray[Any], num_values: int) -> Codes:
    return Codes(values=values, num_values=num_values, num_positions=values.shape[1])


def _check_encoder(learnt: str, came: str) -> None:
    if learnt != came:
        raise Mismatch(
            f"the classifier was learnt from codes of {learnt!r}, these come from {came!r}; "
            "encode with the same encoder."
        )


def _describe(made: CountingClassifier, worst: float) -> dict[str, Any]:
    return {
        "learner": learner_name(made),
        "classes": len(made.classes_),
        "epsilon_per_code": sorted(made.counts_.tables),
        "epsilon_per_picture": worst,
        "not_protected": list(NOT_PROTECTED),
    }


def _emit(title: str, facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(facts)
        return
    emit_facts(title, {key.replace("_", " "): _shown(key, facts[key]) for key in facts})


def _shown(key: str, value: Any) -> str:
    if key == "epsilon_per_picture" and math.isinf(value):
        return "infinite: nothing was hidden"
    if key == "epsilon_per_picture":
        return f"{value:g} at most, for a picture learnt from; labels are outside"
    if isinstance(value, list):
        return ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _npy(array: NDArray[Any]) -> bytes:
    import io

    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise InvalidInput(f"{path} exists already; choose another name or remove it.")
