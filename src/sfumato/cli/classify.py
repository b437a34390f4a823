"""`sfumato classify`: learn from randomized codes, and say what a picture shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from sfumato.classification.files import (
    LEARNERS,
    learner_class,
    load_encoder,
    load_model,
    save_model,
)
from sfumato.classification.training import classify
from sfumato.classification.training import train as train_learner
from sfumato.cli import classify_encoder
from sfumato.cli.classify_output import emit, refuse_existing
from sfumato.cli.code_files import (
    encode,
    holds_releases,
    read_code_releases,
    read_codes,
    read_labels,
)
from sfumato.cli.output import JsonFlag
from sfumato.core.codes import Codes
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.storage import write_file

if TYPE_CHECKING:
    from sfumato.classification.learner import Learner

app = typer.Typer(
    help="Learn from pictures that were randomized before they were shared.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NOT_PROTECTED = ("the labels", "how many codes were sent and where they belong")


app.command("encoder")(classify_encoder.run)


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
    neighbours: Annotated[
        int | None, typer.Option(help="knn: how many are asked; by default 8 + 1.5/(p − q)².")
    ] = None,
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
    refuse_existing(output)
    shape = None if encoder is None else load_encoder(encoder).map_shape_
    sent = list(read_code_releases(releases))
    if not sent:
        raise InvalidInput(f"{releases} holds no release; nothing was learnt.")
    names = None if labels is None else read_labels(labels, len(sent))
    worst = max(release.epsilon * len(release) for release in sent)
    if update is None:
        made = _learner(learner, alpha, spatial, neighbours, shape)
        encoder_name = sent[0].encoder
    else:
        made, encoder_name, before = load_model(update)
        worst = max(worst, before)
        _check_encoder(encoder_name, sent[0].encoder)
    train_learner(made, sent, names, map_shape=shape)
    save_model(output, made, encoder=encoder_name, picture_epsilon=worst)
    facts = {"pictures": len(sent), **_describe(made, worst), "output": str(output)}
    emit(f"wrote {output}", facts, as_json)


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
        refuse_existing(output)
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
    emit("classified", facts, as_json)


def _learner(
    name: str,
    alpha: float,
    spatial: float,
    neighbours: int | None,
    shape: tuple[int, int, int] | None,
) -> Learner:
    if neighbours is not None and name != "knn":
        raise InvalidInput("--neighbours belongs to --learner knn; leave it out.")
    options: dict[str, Any] = {"map_shape": shape}
    if name == "naive-bayes":
        options |= {"alpha": alpha, "spatial": spatial}
    elif name == "knn":
        options = {"num_neighbours": neighbours, "weights": "log-odds"}
    made: Learner = learner_class(name)(**options)
    return made


def _predicted(
    made: Learner, encoder_name: str, pictures: Path, encoder: Path | None
) -> NDArray[Any]:
    if holds_releases(pictures):
        sent = list(read_code_releases(pictures))
        _check_encoder(encoder_name, sent[0].encoder)
        return classify(made, sent)
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


def _describe(made: Learner, worst: float) -> dict[str, Any]:
    return {
        "learner": made.name,
        "classes": len(made.classes_),
        "epsilon_per_code": made.epsilons(),
        "epsilon_per_picture": worst,
        "not_protected": list(NOT_PROTECTED),
    }


def _npy(array: NDArray[Any]) -> bytes:
    import io

    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()
