"""The picture of the fewer-keypoints experiment: utility and privacy over N [reverse, Fig. 5]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfumato.experiments.fewer_table import Row

_COLORS = {"sift": "#1b1b1f", "freak": "#c8553d", "vgg": "#4a7c8c", "beblid": "#d9a441"}
_OTHER = "#8a8a94"
_STYLES = {"strength": "-", "spread": "--", "stable": ":"}
_TITLES = {
    "both": "both pictures keep N",
    "query": "one keeps N, the server's has all",
}


def draw_plot(rows: Sequence[Row], path: str | Path) -> None:
    """Recall over N for each protocol, then 1 − SSIM where there is a network."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    protocols = [name for name in _TITLES if any(row.setting.protocol == name for row in rows)]
    has_privacy = any(row.privacy is not None for row in rows)
    panels = max(len(protocols) + has_privacy, 1)
    figure, axes = pyplot.subplots(1, panels, figsize=(4.2 * panels, 3.8), squeeze=False)
    for axis, protocol in zip(axes[0], protocols, strict=False):
        chosen = [row for row in rows if row.setting.protocol == protocol]
        for label, color, style, points in _curves(chosen):
            x = [row.setting.num_keypoints for row in points]
            y = [100 * (row.recall[0] or 0) for row in points]
            axis.plot(x, y, style, color=color, marker="o", markersize=4, label=label)
        axis.set_title(_TITLES[protocol], fontsize=11)
        axis.set_ylabel("matching recall, all pairs (%)")
        axis.set_ylim(0, 100)
        axis.legend(frameon=False, fontsize=8)
    if has_privacy:
        axis = axes[0][-1]
        seen = [row for row in rows if row.privacy is not None]
        once = {(row.setting.extractor, row.setting.keep_by, row.setting.num_keypoints): row
                for row in seen}  # fmt: skip
        for label, color, style, points in _curves([*once.values()]):
            x = [row.setting.num_keypoints for row in points]
            y = [row.privacy.mean for row in points if row.privacy is not None]
            axis.plot(x, y, style, color=color, marker="o", markersize=4, label=label)
        axis.set_title("1 − SSIM of the reconstruction", fontsize=11)
        axis.set_ylabel("higher is more private")
        axis.legend(frameon=False, fontsize=8)
    for axis in axes[0]:
        axis.set_xlabel("keypoints, N")
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _curves(rows: Sequence[Row]) -> list[tuple[str, str, str, list[Any]]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.setting.extractor, row.setting.keep_by), []).append(row)
    return [
        (
            f"{extractor} by {keep_by}",
            _COLORS.get(extractor, _OTHER),
            _STYLES[keep_by],
            sorted(group, key=lambda row: row.setting.num_keypoints),
        )
        for (extractor, keep_by), group in groups.items()
    ]
