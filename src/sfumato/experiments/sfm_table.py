"""The table of `sfumato experiment sfm`, and what the papers print in theirs."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.experiments.sfm_scores import Row

_HEAD = (
    "scene", "release", "|K|", "ω", "ε", "N", "ε·N", "images", "points", "≥3", "% raw",
    "matched", "chance", "track", "reproj px", "median mm", "max mm", "s",
)  # fmt: skip

#: [ldp-feat, Fig. S1], Fountain: |K|, ε, ω, registered, points, track length, reprojection error.
PAPER_FOUNTAIN = (
    ("raw", "∞", "1", 11, 15_332, 4.42, 2.82),
    ("512k", "∞", "1", 11, 8_612, 3.80, 2.39),
    ("512k", "10", "4", 11, 983, 2.86, 1.26),
    ("512k", "10", "8", 11, 1_827, 2.98, 1.35),
    ("512k", "10", "16", 11, 2_598, 3.03, 1.50),
    ("512k", "10", "32", 11, 3_078, 3.02, 1.52),
    ("512k", "10", "64", 11, 3_242, 2.89, 1.41),
)

#: [affine, Table 2], SIFT: collection, images, then registered and points raw, m = 2, m = 4.
PAPER_LIFTED = (
    ("Madrid Metropolis", 1344, (400, 28_862), (302, 17_232), (227, 11_461)),
    ("Gendarmenmarkt", 1463, (896, 74_348), (783, 64_554), (458, 33_291)),
    ("Tower of London", 1576, (635, 64_490), (525, 55_439), (439, 37_819)),
)


def table_lines(rows: Sequence[Row]) -> list[str]:
    """Ours as a table, a legend, and the papers' figures."""
    raw = {row.scene: row for row in rows if row.setting.method == "raw"}
    cells = [_HEAD, *(_cells(row, raw.get(row.scene)) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEAD))]
    lines = [
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines += [f"{row.scene}, {_name(row)}: {row.reason}" for row in rows if row.reason]
    return [*lines, "", *_legend(), "", *paper_lines()]


def paper_lines() -> list[str]:
    """What the papers report, on other data, features and machines."""
    lines = ["ldp-feat, Fig. S1, Fountain (its own features and dictionary of 512k words, COLMAP):"]
    lines += [
        f"  |K| {words}, ε {epsilon}, ω {size}: {registered} images, {points:,} points, "
        f"track {track:.2f}, {error:.2f} px"
        for words, epsilon, size, registered, points, track, error in PAPER_FOUNTAIN
    ]
    lines.append("affine, Table 2, SIFT, images / points, raw → m = 2 → m = 4 (internet photos):")
    lines += [
        f"  {name}, {images:,}: "
        + " → ".join(f"{registered} / {points:,}" for registered, points in figures)
        for name, images, *figures in PAPER_LIFTED
    ]
    return lines


def _cells(row: Row, raw: Row | None) -> tuple[str, ...]:
    setting = row.setting
    share = "–"
    if raw is not None and raw.long_tracks:
        share = f"{100 * row.long_tracks / raw.long_tracks:.0f}"
    return (
        row.scene,
        _name(row),
        "–" if setting.num_words is None else f"{setting.num_words:,}",
        "–" if setting.subset_size is None else str(setting.subset_size),
        "–" if setting.epsilon is None else f"{setting.epsilon:g}",
        f"{row.mean_keypoints:,.0f}",
        "–" if row.picture_epsilon is None else f"{row.picture_epsilon:,.0f}",
        f"{row.registered}/{row.images}",
        f"{row.points:,}",
        f"{row.long_tracks:,}",
        share,
        f"{row.long_tracks_by_matches:,}",
        f"{row.long_tracks_by_chance:,}",
        f"{row.mean_track_length:.2f}",
        f"{row.mean_reprojection_error_px:.2f}",
        _millimetres(row.median_camera_error),
        _millimetres(row.max_camera_error),
        f"{row.seconds:.0f}",
    )


def _name(row: Row) -> str:
    setting = row.setting
    if setting.method == "lifted":
        return f"lifted, m = {setting.dimension}"
    return setting.method


def _millimetres(error: float | None) -> str:
    return "–" if error is None else f"{1000 * error:.1f}"


def _legend() -> list[str]:
    return [
        "points: all, two-view tracks among them; ≥3: seen by three or more images; % raw: of the",
        "≥3 of raw descriptors with the same matcher. matched: of the ≥3, before keypoints were",
        "added to tracks by their position alone. chance: of the ≥3, about how many owe their",
        "third image to a keypoint that was there by chance. track: mean over all points.",
        "median, max: camera centers after the best similarity; cameras.json taken in metres.",
        "ε is per descriptor, ε·N per picture, and k views of one point of the scene cost k·ε",
        "about it; lifted has no guarantee. Positions and N are not protected. Releases are",
        "reproducible (seeded), not for sending. s: the server's seconds, matching included.",
    ]
