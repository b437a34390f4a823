"""What the filters of `dcaconv.py` are fitted from: moments of pictures, never their patches.

Cutting a patch and filtering a picture are both linear. So the scatter of all patches, of the
pictures and of their filtered maps alike, follows exactly from the second moment Σ x·xᵀ of the
pictures (784×784 for 28×28 pixels) and from the mean picture of each class.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.classification.dca import (
    Directions,
    Matrix,
    discriminant_directions,
    fixed_signs,
)
from sfumato.classification.encoder import filter_all

#: Pictures turned into doubles at a time.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over pictures of h×w pixels.

    second  (h, w, h, w), Σ x·xᵀ
    means   (classes, h, w), the mean picture of each class
    counts  (classes,), pictures per class
    """

    second: NDArray[np.float64]
    means: NDArray[np.float64]
    counts: NDArray[np.int64]

    @classmethod
    def of(
        cls, pictures: NDArray[Any], index: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> Moments:
        """Of pictures (N, h, w) and the class of each; whole numbers are summed exactly."""
        height, width = pictures.shape[1:]
        second = np.zeros((height * width, height * width))
        sums = np.zeros((len(counts), height * width))
        for start in range(0, len(pictures), _BLOCK):
            block = pictures[start : start + _BLOCK].reshape(-1, height * width).astype(np.float64)
            second += block.T @ block
            members = index[start : start + _BLOCK, None] == np.arange(len(counts))
            sums += members.T.astype(np.float64) @ block
        means = (sums / counts[:, None]).reshape(-1, height, width)
        return cls(second.reshape(height, width, height, width), means, counts)

    def filtered(self, kernel: NDArray[np.float64]) -> Moments:
        """The moments of the same pictures after filtering, y = A·x: A·M·Aᵀ and A·μ."""
        height, width = self.second.shape[:2]
        half = correlate(self.second.reshape(height, width, -1), kernel)  # A·M
        flipped = half.reshape(height * width, -1).T  # M is symmetric
        both = correlate(flipped.reshape(height, width, -1), kernel)
        means = correlate(self.means.transpose(1, 2, 0), kernel)
        return Moments(both.reshape(self.second.shape), means.transpose(2, 0, 1), self.counts)


def correlate(pictures: NDArray[Any], kernel: NDArray[Any]) -> NDArray[Any]:
    """Every picture ⋆ kernel, zeros around; (h, w, N) in and out."""
    import cv2

    return filter_all(
        pictures, lambda block: cv2.filter2D(block, -1, kernel, borderType=cv2.BORDER_CONSTANT)
    )


def fit_filters(
    maps: list[Moments],
    size: int,
    count: int,
    *,
    scatter: str,
    ridge: float,
    signal_ridge: float,
) -> Directions:
    """`count` filters of size×size for all maps together; their entries sum to zero.

    Every patch has its own mean removed. What remains lies in the size² − 1 dimensions
    orthogonal to the constant patch, and the problem is solved there: the constant has no
    scatter at all, and a ridge would lift it to the front.

    scatter "paper"     classes differ by their mean patch over all positions  [dcaconv, eq. 45–48]
            "position"  classes differ by their mean patch at each position (ours)
    """
    compare = _over_positions if scatter == "paper" else _at_each_position
    between, within = compare(maps, size)
    basis = _zero_mean_basis(size * size)
    found = discriminant_directions(
        basis.T @ between @ basis,
        basis.T @ within @ basis,
        count,
        ridge=ridge,
        signal_ridge=signal_ridge,
    )
    return Directions(fixed_signs(found.vectors @ basis.T), found.eigenvalues, found.gap)


def _at_each_position(maps: list[Moments], size: int) -> tuple[Matrix, Matrix]:
    between, within = np.zeros((size**2, size**2)), np.zeros((size**2, size**2))
    for part in maps:
        shape, counts = part.second.shape, part.counts
        flat = part.means.reshape(len(counts), -1)
        centred = flat - (counts @ flat) / counts.sum()
        signal = (centred.T * counts) @ centred
        noise = part.second.reshape(signal.shape) - (flat.T * counts) @ flat
        between += pool_patches(signal.reshape(shape), size)
        within += pool_patches(noise.reshape(shape), size)
    return between, within


def _over_positions(maps: list[Moments], size: int) -> tuple[Matrix, Matrix]:
    counts, positions = maps[0].counts, maps[0].means[0].size * len(maps)
    total = np.zeros((size**2, size**2))
    patches = np.zeros((len(counts), size**2))  # the mean patch of each class
    for part in maps:
        total += pool_patches(part.second, size)
        patches += _mean_patches(part.means, size) / len(maps)
    weights = counts * positions
    centred = patches - (counts @ patches) / counts.sum()
    between = (centred.T * weights) @ centred
    return between, total - (patches.T * weights) @ patches


def pool_patches(moment: NDArray[np.float64], size: int) -> Matrix:
    """Σ_j P_j·M·P_jᵀ over all positions j: the second moment of patches from that of pictures.

    moment (h, w, h, w); P_j cuts the size×size patch around pixel j, zeros outside the picture.
    """
    height, width = moment.shape[:2]
    padded = np.pad(moment, size // 2)
    sums = [
        np.einsum("yxyx->", padded[i : i + height, j : j + width, k : k + height, m : m + width])
        for i, j, k, m in itertools.product(range(size), repeat=4)
    ]
    return np.array(sums).reshape(size * size, size * size)


def _mean_patches(means: NDArray[np.float64], size: int) -> Matrix:
    """Mean over all positions of the patches of each picture: (classes, size²)."""
    half = size // 2
    _, height, width = means.shape
    padded = np.pad(means, ((0, 0), (half, half), (half, half)))
    return np.stack(
        [
            padded[:, i : i + height, j : j + width].mean(axis=(1, 2))
            for i in range(size)
            for j in range(size)
        ],
        axis=1,
    )


def _zero_mean_basis(size: int) -> Matrix:
    """Orthonormal columns (size, size − 1) orthogonal to the constant vector (Helmert's)."""
    from scipy.linalg import helmert

    return np.asarray(helmert(size).T)
