"""A binarised network whose last signs are codes of d = 2, for comparison.

This is the only file of `classification` that imports torch, when it must.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.encoder import Encoder, Shape
from sfumato.classification.labels import class_members
from sfumato.core.checks import check_count
from sfumato.core.errors import InvalidInput
from sfumato.core.extras import need

_BATCH = 128


def check_available() -> None:
    """Refuse with the way out when torch is not there."""
    need("train", "BinaryNetwork", "torch")


@dataclass(eq=False, repr=False)
class BinaryNetwork(Encoder):
    """Weights and activations of ±1, trained with straight-through gradients [dcaconv, Fig. 4].

    Two convolutions with as many filters as DCAConv, 2×2 max-pooling with stride 1, then two
    fully connected layers that only training needs. The signs before them are the codes:
    m = filters·(h − 1)·(w − 1), d = 2. Trained on raw pictures, so those who train it must be
    trusted with these. There is no file format for it.

    num_filters   of both convolutions
    hidden        units of the fully connected layer
    epochs        passes over the pictures
    random_state  of the weights and the order of pictures
    """

    name: ClassVar[str] = "binary-network"
    needs_labels: ClassVar[bool] = True
    _block: ClassVar[int] = _BATCH

    num_filters: int = 5
    _: KW_ONLY
    filter_size: int = 7
    hidden: int = 256
    epochs: int = 3
    random_state: int = 0

    def _prepare(self, shape: Shape) -> None:
        check_available()
        for name in ("num_filters", "hidden", "epochs"):
            check_count(name, getattr(self, name), low=1)
        check_count("filter_size", self.filter_size, low=3, high=31)
        if self.filter_size % 2 == 0:
            raise InvalidInput(f"filter_size must be odd, got {self.filter_size}.")
        if min(shape) < 2:
            raise InvalidInput("pictures must have at least 2×2 pixels for 2×2 pooling.")
        self.num_values_, self.map_shape_ = 2, (self.num_filters, shape[0] - 1, shape[1] - 1)

    def _learn(self, pictures: NDArray[Any], y: Any) -> None:
        import torch

        self.classes_, index, _ = class_members(y, len(pictures))
        self.scale_ = float(np.abs(pictures).max()) or 1.0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            front, back = self._layers(len(self.classes_))
            _train(front, back, self._tensor, pictures, index, self.epochs)
        self._front_ = front.eval()

    def _encode(self, pictures: NDArray[Any]) -> NDArray[Any]:
        check_available()
        import torch

        with torch.no_grad():
            return np.asarray(self._front_(self._tensor(pictures)) > 0)

    def _tensor(self, pictures: NDArray[Any]) -> Any:
        import torch

        scaled = np.asarray(pictures, dtype=np.float32) / np.float32(self.scale_)
        return torch.from_numpy(scaled[:, None] * 2 - 1)

    def _layers(self, num_classes: int) -> tuple[Any, Any]:
        """What makes codes, and what only training needs."""
        import torch
        from torch import nn
        from torch.nn import functional

        def sign(x: Any) -> Any:
            """±1 forward; backward the gradient where |x| ≤ 1 (straight through)."""
            soft = functional.hardtanh(x)
            return soft + (torch.where(x > 0, 1.0, -1.0) - soft).detach()

        class Sign(nn.Module):  # type: ignore[misc,unused-ignore]
            def forward(self, x: Any) -> Any:
                return sign(x)

        class BinaryConv(nn.Conv2d):  # type: ignore[misc,unused-ignore]
            def forward(self, x: Any) -> Any:
                return functional.conv2d(x, sign(self.weight), padding=self.padding)

        class BinaryLinear(nn.Linear):  # type: ignore[misc,unused-ignore]
            def forward(self, x: Any) -> Any:
                return functional.linear(x, sign(self.weight))

        count, size, half = self.num_filters, self.filter_size, self.filter_size // 2
        front = nn.Sequential(
            BinaryConv(1, count, size, padding=half, bias=False),
            nn.BatchNorm2d(count),
            Sign(),
            BinaryConv(count, count, size, padding=half, bias=False),
            nn.MaxPool2d(2, stride=1),
            nn.BatchNorm2d(count),
            Sign(),
        )
        back = nn.Sequential(
            nn.Flatten(),
            BinaryLinear(int(np.prod(self.map_shape_)), self.hidden, bias=False),
            nn.BatchNorm1d(self.hidden),
            Sign(),
            BinaryLinear(self.hidden, num_classes, bias=False),
            nn.BatchNorm1d(num_classes),
        )
        return front, back


def _train(
    front: Any,
    back: Any,
    tensor: Any,
    pictures: NDArray[Any],
    index: NDArray[np.int64],
    epochs: int,
) -> None:
    import torch
    from torch.nn import functional

    parameters = [*front.parameters(), *back.parameters()]
    optimiser = torch.optim.Adam(parameters, lr=3e-3)
    batches = max(len(pictures) // _BATCH, 1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs * batches)
    front.train(), back.train()
    for _ in range(epochs):
        order = torch.randperm(len(pictures)).numpy()
        for part in np.array_split(order, batches):
            scores = back(front(tensor(pictures[part])))
            loss = functional.cross_entropy(scores, torch.from_numpy(index[part]))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            with torch.no_grad():
                for values in parameters:
                    if values.ndim > 1:  # latent weights stay where gradients still reach them
                        values.clamp_(-1, 1)
