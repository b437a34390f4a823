"""A pose as people and machines read it: for every command that asks for one."""

from __future__ import annotations

from typing import Any

import typer

from sfumato.cli.output import emit
from sfumato.core.types import Localization


def tell_localization(
    result: Localization, as_json: bool, more: dict[str, Any] | None = None
) -> None:
    """Print a pose or the reason why there is none, which ends with exit code 1."""
    facts: dict[str, Any] = {
        "localized": result.localized,
        "num_inliers": result.num_inliers,
        "num_matches": result.num_matches,
        "log10_chance": round(result.log10_chance, 2),
        "reason": result.reason,
        "expected_error": None,
        "warning": result.warning,
        "camera": None,
        "searched": result.searched,
    }
    shown = {
        "inliers": f"{result.num_inliers} of {result.num_matches} candidate matches",
        "by chance": f"10^{result.log10_chance:.1f} poses as good as this one expected",
    }
    if result.pose is not None:
        pose = result.pose
        facts["cam_from_world"] = {
            "rotation": pose.rotation.tolist(),
            "translation": pose.translation.tolist(),
        }
        facts["center"] = pose.center.tolist()
        shown["camera at"] = _row(pose.center, 3) + " (in the map's unit)"
        shown["cam_from_world"] = f"quaternion {_row(pose.quaternion, 6)} (w x y z)"
        shown["  translation"] = _row(pose.translation, 3)
    if result.error is not None:
        error = result.error
        facts["expected_error"] = {
            "position": error.position,
            "rotation_deg": error.rotation_deg,
            "covariance": error.covariance.tolist(),
        }
        shown["expected error"] = (
            f"{error.position:.3g} in the map's unit and {error.rotation_deg:.2g}°; nine poses of "
            "ten are nearer"
        )
    if result.camera is not None:
        facts["camera"] = result.camera.as_dict()
    if result.warning is not None:
        shown["warning"] = result.warning
    if result.reason is not None:
        shown["reason"] = result.reason
    emit(as_json, facts | (more or {}), "localized" if result.localized else "not localized", shown)
    if result.pose is None:
        raise typer.Exit(1)


def _row(values: Any, digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)
