"""A run begins with the network of another run, or of an exported file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.adversary.invert.architecture import Architecture
from sfumato.adversary.invert.checkpoints import last_checkpoint
from sfumato.adversary.invert.data import DataOptions, View
from sfumato.adversary.invert.start_from import Start
from sfumato.adversary.invert.train import TrainOptions, train_inversion
from sfumato.core.errors import InvalidInput, Mismatch
from small_training import train


@pytest.mark.needs("train")
def test_a_run_starts_where_another_one_ended(folder: Path, tmp_path: Path) -> None:
    train(folder, tmp_path / "first", steps=5)
    first = last_checkpoint(tmp_path / "first", Architecture)
    assert first is not None
    view = View(frames="given")
    tiny: dict[str, Any] = {
        "steps": 1,
        "learning_rate": 1e-9,
        "adversarial_after_epoch": None,
        "average": 0.0,
    }
    train(folder, tmp_path / "more", view=view, start_from=tmp_path / "first", **tiny)
    more = last_checkpoint(tmp_path / "more", Architecture)
    assert more is not None
    assert more.settings["steps_before"] == 5
    old, new = first.parts["average"], more.parts["generator"]
    assert np.allclose(new["brightness.weight"], old["brightness.weight"], atol=1e-6)
    assert np.allclose(new["embed.0.weight"][:, :128], old["embed.0.weight"], atol=1e-6)
    assert np.abs(new["embed.0.weight"][:, 128:]).max() < 1e-6
    assert new["patches.decode.0.weight"].std() > 0  # born, not taken over


@pytest.mark.needs("train")
def test_other_rows_take_over_the_painter_only(folder: Path, tmp_path: Path) -> None:
    train(folder, tmp_path / "first", steps=3)
    tiny: dict[str, Any] = {"steps": 1, "learning_rate": 1e-9, "adversarial_after_epoch": None}
    view = View(kind="positions")
    train(folder, tmp_path / "more", view=view, start_from=tmp_path / "first", **tiny)
    first, more = (last_checkpoint(tmp_path / run, Architecture) for run in ("first", "more"))
    assert first is not None
    assert more is not None
    old, new = first.parts["average"], more.parts["generator"]
    assert np.allclose(new["brightness.weight"], old["brightness.weight"], atol=1e-6)
    assert new["embed.0.weight"].shape == (8, 1)
    assert not np.allclose(new["embed.2.weight"], old["embed.2.weight"], atol=1e-3)
    with pytest.raises(Mismatch, match="whose width is 4 when 6"):
        train(folder, tmp_path / "wide", width=6, start_from=tmp_path / "first", **tiny)


@pytest.mark.needs("train")
@pytest.mark.parametrize("frames", ["none", "either"])
def test_a_run_starts_from_an_exported_file_as_from_its_run(
    folder: Path, tmp_path: Path, frames: str
) -> None:
    from sfumato.adversary.invert.export import export_onnx

    run, view = tmp_path / "first", View(frames=frames)
    train(folder, run, view=view, steps=5)
    for compact in (False, True):
        file = tmp_path / f"{compact}.onnx"
        export_onnx(run, file, compact=compact)
        whole, read = Start.of(run), Start.of(file)
        assert read.architecture == whole.architecture
        assert read.steps == whole.steps == 5
        assert read.weights.keys() == whole.weights.keys()
        for name, value in whole.weights.items():
            tolerance = np.abs(value).max() / 100 if compact else 0
            assert np.abs(read.weights[name] - value).max() <= tolerance, name
    train(folder, tmp_path / "more", view=view, start_from=file, steps=1)
    more = last_checkpoint(tmp_path / "more", Architecture)
    assert more is not None
    assert more.settings["steps_before"] == 5


@pytest.mark.needs("train")
def test_a_network_is_exported_as_the_mean_of_two(folder: Path, tmp_path: Path) -> None:
    from sfumato.adversary.invert.export import export_onnx

    train(folder, tmp_path / "first", steps=3)
    train(folder, tmp_path / "second", steps=3, start_from=tmp_path / "first")
    made = tmp_path / "mean.onnx"
    export_onnx(tmp_path / "second", made, blend=tmp_path / "first", blend_share=0.25)
    first, second, mean = (
        Start.of(path) for path in (tmp_path / "first", tmp_path / "second", made)
    )
    for name, value in mean.weights.items():
        wanted = 0.25 * first.weights[name] + 0.75 * second.weights[name]
        assert np.abs(value - wanted).max() < 1e-6, name
    train(folder, tmp_path / "wide", width=6, steps=1)
    with pytest.raises(Mismatch, match="its width is 6, 4 is asked for"):
        export_onnx(tmp_path / "second", made, blend=tmp_path / "wide")
    with pytest.raises(InvalidInput, match="blend_share must lie between 0 and 1, got 1"):
        export_onnx(tmp_path / "second", made, blend=tmp_path / "first", blend_share=1)


@pytest.mark.needs("train")
def test_a_run_does_not_start_from_a_file_that_lost_its_weights(
    folder: Path, tmp_path: Path
) -> None:
    from sfumato.adversary.invert.export import export_onnx

    batch = Architecture(width=4, depth=3, embedding=6, hidden=8, norm="batch")
    options = TrainOptions(steps=1, batch=2, perceptual=0.0, validation_pictures=0, threads=1)
    train_inversion(
        folder, tmp_path / "run", architecture=batch, data=DataOptions(crop=64), options=options
    )
    export_onnx(tmp_path / "run", tmp_path / "batch.onnx")
    with pytest.raises(InvalidInput, match="so no run can start from it; start from the run"):
        Start.of(tmp_path / "batch.onnx")
    (tmp_path / "words.onnx").write_text("no network")
    with pytest.raises(InvalidInput, match=r"words\.onnx is not an inversion network"):
        Start.of(tmp_path / "words.onnx")


@pytest.mark.needs("train")
def test_weights_stored_under_other_names_are_refused_in_a_sentence(
    folder: Path, tmp_path: Path
) -> None:
    import onnx

    from sfumato.adversary.invert.export import export_onnx

    train(folder, tmp_path / "run", steps=1)
    export_onnx(tmp_path / "run", tmp_path / "good.onnx", compact=True)
    model = onnx.load(tmp_path / "good.onnx")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(3, np.int8), "lost.q"))
    half = next(one for one in model.graph.initializer if one.name.endswith(".half"))
    other = half.name.replace(".half", ".other")
    for node in model.graph.node:
        node.input[:] = [other if name == half.name else name for name in node.input]
    half.name = other
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(InvalidInput, match="so no run can start from it"):
        Start.of(tmp_path / "other.onnx")
