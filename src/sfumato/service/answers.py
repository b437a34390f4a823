"""What the service answers, as pydantic models: the OpenAPI document is made of these."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from sfumato.core.types import NOT_PROTECTED, Localization

NOTICE = (
    "Descriptors are protected by the device's own ε, per descriptor. Not protected: "
    + ", ".join(NOT_PROTECTED)
    + ". Plain and subspace releases carry no guarantee at all."
)
Fingerprint = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Vector = Annotated[list[float], Field(min_length=3, max_length=3)]


class ErrorAnswer(BaseModel):
    """Every answer that is not the one asked for."""

    error: str = Field(description="A short code for machines.")
    detail: str = Field(description="One sentence for people.")


class DictionaryInfo(BaseModel):
    """Public words a map can be asked with."""

    fingerprint: Fingerprint
    num_words: int
    name: str | None


class UsedCamera(BaseModel):
    """Intrinsics in one of COLMAP's camera models."""

    model: str
    width: int
    height: int
    params: list[float]


class MapInfo(BaseModel):
    """What may be told about a map."""

    id: str
    name: str
    created: str = Field(description="RFC 3339, UTC.")
    extractor: str
    num_images: int
    num_points: int
    num_observations: int
    num_bytes: int
    up: Vector | None = Field(
        default=None, description="Where the map knows it: only then gravity may be sent."
    )
    camera: UsedCamera | None = Field(
        default=None, description="What most of its images were taken with; maps of old: null."
    )
    accepts: list[str]
    dictionaries: list[DictionaryInfo]
    notice: str = Field(description="What is not protected when this map is asked.")


class MapList(BaseModel):
    """All maps of the key's tenant."""

    maps: list[MapInfo]


class Transform(BaseModel):
    """cam_from_world: a point x of the world has coordinates R·x + t in the camera."""

    rotation: Annotated[list[Vector], Field(min_length=3, max_length=3)]
    translation: Vector


class ExpectedError(BaseModel):
    """Nine poses of ten are at most this far off, in position and in rotation."""

    position: float = Field(description="In the map's unit.")
    rotation_deg: float
    covariance: list[list[float]] = Field(
        description="6×6: rotation about the camera's axes in radians, then center in the world."
    )


class AgreeingKeypoints(BaseModel):
    """Which keypoints agree with the pose; the points they saw stay in the map."""

    keypoints: list[int] = Field(description="Rows of the release, in its own order.")


class Answer(BaseModel):
    """A pose, or the reason why none is given."""

    localized: bool
    cam_from_world: Transform | None
    center: Vector | None
    num_inliers: int
    num_matches: int
    log10_chance: float = Field(
        description="log10 of the number of poses as good as this one expected by chance."
    )
    reason: str | None
    expected_error: ExpectedError | None = Field(description="How far the pose may be off.")
    warning: str | None = Field(description="What cannot be trusted, in one sentence.")
    camera: UsedCamera | None = Field(
        description="What the pose was computed with, where the release's camera does not fit."
    )
    searched: float = Field(
        description="Share of the map's images that were looked at: below 1, a part of the map did "
        "not answer, and the warning says so. Without a pose that is a 503, never an answer."
    )
    inliers: AgreeingKeypoints | None = Field(
        default=None, description="The keypoints behind num_inliers; null without a pose."
    )


class PlanAnswer(BaseModel):
    """Settings that worked on the map's own images: a recommendation a client may refuse.

    ε holds per descriptor; a picture of N keypoints spends N·ε.
    """

    epsilon: float = Field(description="ε per descriptor.")
    epsilon_per_picture: float = Field(description="N·ε, mean over the images that were tried.")
    num_words: int
    subset_size: int
    max_keypoints: int | None = Field(description="null: all of them.")
    dictionary: Fingerprint = Field(description="The words to use, or the level of them.")
    share_localized: float
    share_interval_95: Annotated[list[float], Field(min_length=2, max_length=2)]
    trials: int
    max_distance: float = Field(description="A trial succeeded within this, in the map's unit.")
    max_angle_deg: float
    not_protected: list[str]


class PointsAnswer(BaseModel):
    """Positions of a map, thinned evenly: enough to draw it, not to localize in it."""

    points: list[Vector] = Field(
        description="In the map's unit; none where the operator hides them."
    )
    up: Vector = Field(
        description="Up, of length 1: known, or else as the map's own images were held."
    )


class Readiness(BaseModel):
    """Whether queries are answered, and whether maps can be changed."""

    status: str
    writable: bool = Field(description="false: queries are answered, changes are refused.")
    reason: str | None = Field(default=None, description="Why it is not writable.")


class Health(BaseModel):
    """Alive, or ready."""

    status: str


_MEANINGS = {
    400: "the request is not valid",
    401: "no valid key",
    403: "not with this key, or a kind of release the owner does not accept",
    404: "no such thing, or not yours",
    405: "another method is needed",
    408: "the body came too slowly",
    409: "in conflict with what is there, or another dictionary or extractor",
    413: "too large",
    429: "too many requests of this key, or too costly ones",
    431: "the header is too large",
    500: "the service failed",
    503: "busy; try again",
    507: "the store is full or read-only",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI description of the errors a route may answer with."""
    described: dict[int | str, dict[str, Any]] = {}
    for status in (*statuses, 431):
        entry: dict[str, Any] = {"model": ErrorAnswer, "description": _MEANINGS[status]}
        if status in (429, 503):
            entry["headers"] = {
                "Retry-After": {
                    "description": "whole seconds",
                    "required": True,
                    "schema": {"type": "integer", "minimum": 1},
                }
            }
        described[status] = entry
    return described


def answer_of(found: Localization) -> Answer:
    """The same names as `sfumato localize --json`."""
    pose, error = found.pose, found.error
    return Answer(
        localized=found.localized,
        cam_from_world=None
        if pose is None
        else Transform(rotation=pose.rotation.tolist(), translation=pose.translation.tolist()),
        center=None if pose is None else pose.center.tolist(),
        num_inliers=found.num_inliers,
        num_matches=found.num_matches,
        log10_chance=round(max(found.log10_chance, -1e6), 2),
        reason=found.reason,
        expected_error=None
        if error is None
        else ExpectedError(
            position=error.position,
            rotation_deg=error.rotation_deg,
            covariance=error.covariance.tolist(),
        ),
        warning=found.warning,
        camera=None if found.camera is None else UsedCamera(**found.camera.as_dict()),
        searched=found.searched,
        inliers=None
        if found.inliers is None
        else AgreeingKeypoints(keypoints=sorted(set(found.inliers.keypoints.tolist()))),
    )
