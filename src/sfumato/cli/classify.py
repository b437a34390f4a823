"""`sfumato classify`: learn from randomized codes, and say what a picture shows."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.files import (
    JOINED,
    LEARNERS,
    learner_class,
    load_encoder,
    load_model,
    save_model,
)
from sfumato.classification.training import classify
from sfumato.classification.training import train as train_learner
from sfumato.cli import options as opt
from sfumato.cli.code_files import encode, read_code_releases, read_codes, read_labels
from sfumato.cli.command import applies, refuse_given
from sfumato.cli.files import refuse_existing, starts_with
from sfumato.cli.options import argument, option, output
from sfumato.cli.output import JsonFlag, emit
from sfumato.core.codes import Codes
from sfumato.core.errors import InvalidInput, Mismatch
from sfumato.core.releases import CodeRelease
from sfumato.core.storage import write_file
from sfumato.core.wire import MAGIC

if TYPE_CHECKING:
    from sfumato.classification.encoder import Encoder
    from sfumato.classification.learner import Learner

NOT_PROTECTED = ("the labels", "how many codes were sent and where they belong")


@applies(
    {
        "--learner --alpha --spatial --neighbours": "not --update",
        "--alpha --spatial": "--learner=naive-bayes",
        "--neighbours": "--learner=knn",
    }
)
def train(
    releases: Annotated[Path, argument("FILE", "Releases of codes (.sfr), no picture.")],
    *,
    output: Annotated[Path, output("The classifier's file (.npz).")],
    labels: opt.Labels = None,
    learner: Annotated[str, option(f"{', '.join(LEARNERS)}.", metavar="NAME")] = "naive-bayes",
    alpha: Annotated[float, option("naive-bayes: smoothing, in clean answers.")] = 1.0,
    spatial: Annotated[
        float, option("naive-bayes: neighbouring cells share answers; σ in cells.")
    ] = 0.0,
    neighbours: Annotated[
        int | None, option("knn: how many are asked.", shown="8 + 1.5/(p − q)²")
    ] = None,
    encoder: opt.Encoder = None,
    update: Annotated[
        Path | None, option("Learn on from this classifier, with its settings.")
    ] = None,
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """What it protects was decided when the releases were made. --labels are needed where the
    releases carry none; --encoder tells the shape of the code map, and is needed for joined codes.

    Example: sfumato classify train releases.sfr --labels labels.npy -o model.npz
    """
    refuse_existing(output)
    tool = None if encoder is None else load_encoder(encoder)
    sent = list(read_code_releases(releases))
    if not sent:
        raise InvalidInput(f"{releases} holds no release; nothing was learnt.")
    _check_joined(sent, tool)
    shape = None if tool is None else tool.cell_shape
    names = None if labels is None else read_labels(labels, len(sent))
    worst = max(release.epsilon * len(release) for release in sent)
    if update is None:
        made = _learner(learner, alpha, spatial, neighbours, shape)
        encoder_name = sent[0].encoder
    else:
        made, encoder_name, before = load_model(update)
        worst = max(worst, before)
        _check_encoder(encoder_name, sent[0].encoder)
    with running.started():
        train_learner(made, sent, names, encoder=tool)
    save_model(output, made, encoder=encoder_name, picture_epsilon=worst)
    facts = {"pictures": len(sent), **_describe(made, worst), "output": str(output)}
    tell_facts(f"wrote {output}", facts, as_json)


def predict(
    model: Annotated[Path, argument("MODEL", "A classifier's file (.npz).")],
    pictures: Annotated[Path, argument("FILE", "Pictures, codes or releases to classify.")],
    *,
    encoder: opt.Encoder = None,
    labels: opt.Labels = None,
    output: Annotated[Path | None, output("The classes to write (.npy).", shown="none")] = None,
    running: opt.Running,
    as_json: JsonFlag = False,
) -> None:
    """Pictures are encoded with --encoder; codes and releases need none. With --labels, the true
    ones, the accuracy is shown.

    Example: sfumato classify predict model.npz t10k-images-idx3-ubyte --encoder encoder.npz
    """
    if output is not None:
        refuse_existing(output)
    made, encoder_name, worst = load_model(model)
    with running.started():
        classes = _predicted(made, encoder_name, pictures, encoder)
    facts: dict[str, Any] = {"pictures": len(classes)}
    if labels is not None:
        truth = read_labels(labels, len(classes))
        facts["accuracy"] = float((truth == classes).mean()) if len(classes) else None
    if output is not None:
        buffer = io.BytesIO()
        np.save(buffer, classes, allow_pickle=False)
        write_file(output, buffer.getvalue())
        facts["output"] = str(output)
    elif as_json:
        facts["classes"] = classes.tolist()
    else:
        names, counts = np.unique(classes, return_counts=True)
        facts["found"] = ", ".join(f"{n} × {name}" for name, n in zip(names, counts, strict=True))
    facts |= {"learnt_from": _describe(made, worst)} if as_json else _describe(made, worst)
    tell_facts("classified", facts, as_json)


def tell_facts(title: str, facts: dict[str, Any], as_json: bool) -> None:
    """Facts for people, or as JSON."""
    emit(as_json, facts, title, {key.replace("_", " "): _shown(key, facts[key]) for key in facts})


def _shown(key: str, value: Any) -> str:
    if key == "epsilon_per_picture" and math.isinf(value):
        return "infinite: nothing was hidden"
    if key == "epsilon_per_picture":
        return f"{value:g} at most, for a picture learnt from; labels are outside"
    if isinstance(value, list):
        return ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _learner(
    name: str,
    alpha: float,
    spatial: float,
    neighbours: int | None,
    shape: tuple[int, int, int] | None,
) -> Learner:
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
    if starts_with(pictures, MAGIC):
        sent = list(read_code_releases(pictures))
        _check_encoder(encoder_name, sent[0].encoder)
        if sent[0].encoder != JOINED:
            refuse_given("encodes pictures, and these are releases", "encoder")
        tool = None if encoder is None else load_encoder(encoder)
        _check_joined(sent, tool)
        return classify(made, sent, encoder=tool)
    if encoder is not None:
        tool = load_encoder(encoder)
        _check_encoder(encoder_name, tool.name)
        return made.predict(tool.separate(_clean(encode(tool, pictures), tool.num_values_)))
    values, num_values, name = read_codes(pictures, None, made.num_values_)
    _check_encoder(encoder_name, name)
    return made.predict(_clean(values, num_values))


def _check_joined(sent: list[CodeRelease], tool: Encoder | None) -> None:
    """Joined codes can be learnt from only by who knows which cells they hold."""
    if tool is None and sent[0].encoder == JOINED:
        raise InvalidInput("--encoder FILE is needed: these codes hold several cells each.")
    if tool is not None and JOINED in (tool.name, sent[0].encoder):
        _check_encoder(sent[0].encoder, tool.name)


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
