"""What a server may answer. Everything is checked before it becomes one of sfumato's types."""

from __future__ import annotations

from typing import Annotated, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from sfumato.client.errors import BadAnswer, printable
from sfumato.core.checks import MAX_EPSILON
from sfumato.core.errors import InvalidInput
from sfumato.core.pose_error import PoseError
from sfumato.core.releases import MAX_WORDS, KeypointRelease
from sfumato.core.types import Camera, Localization, Pose

_Count = Annotated[int, Field(ge=0, le=1 << 53)]
_Text = Annotated[str, Field(max_length=4096)]
_Fingerprint = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_Vector = tuple[FiniteFloat, FiniteFloat, FiniteFloat]


class _Checked(BaseModel):
    # Further fields may come with newer servers; numbers in quotes and the like may not.
    model_config = ConfigDict(extra="ignore", frozen=True)


class WordsInfo(_Checked):
    """A dictionary that a map can be asked with."""

    fingerprint: _Fingerprint
    num_words: Annotated[int, Field(ge=2, le=MAX_WORDS)]
    name: _Text | None = None


class _UsedCamera(_Checked):
    model: _Text
    width: _Count
    height: _Count
    params: Annotated[tuple[FiniteFloat, ...], Field(max_length=16)]


class MapInfo(_Checked):
    """A map on a server."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    name: _Text
    extractor: _Text
    accepts: Annotated[tuple[_Text, ...], Field(max_length=16)]
    dictionaries: Annotated[tuple[WordsInfo, ...], Field(max_length=1024)]
    created: _Text = ""
    num_images: _Count = 0
    num_points: _Count = 0
    num_observations: _Count = 0
    num_bytes: _Count = 0
    up: _Vector | None = None  # older servers know none, and take no gravity
    camera: _UsedCamera | None = None  # what most of its images were taken with
    notice: _Text = ""

    @property
    def usual_camera(self) -> Camera | None:
        """The camera of most images, where the server tells it."""
        return _camera(self.camera)


class _MapList(_Checked):
    maps: tuple[MapInfo, ...]


class MapPoints(_Checked):
    """Some positions of a map and which way is up in it: enough to draw it."""

    points: Annotated[tuple[_Vector, ...], Field(max_length=1 << 20)]
    up: _Vector


class Advice(_Checked):
    """What a server recommends for one of its maps. ε holds per descriptor.

    epsilon_per_picture        N·ε, and exact_epsilon_per_picture E at this δ, of a picture that
                               sends as many keypoints as recommended; None from older servers
    """

    epsilon: Annotated[float, Field(gt=0, le=MAX_EPSILON)]
    num_words: Annotated[int, Field(ge=2, le=MAX_WORDS)]
    subset_size: Annotated[int, Field(ge=1, le=64)]
    max_keypoints: Annotated[int, Field(ge=4, le=1 << 24)] | None
    dictionary: _Fingerprint
    epsilon_per_picture: Annotated[FiniteFloat, Field(ge=0)] | None = None
    exact_epsilon_per_picture: Annotated[FiniteFloat, Field(ge=0)] | None = None
    delta: Annotated[FiniteFloat, Field(gt=0, lt=1)] | None = None
    not_protected: Annotated[tuple[_Text, ...], Field(max_length=32)] = ()


class _Transform(_Checked):
    rotation: tuple[_Vector, _Vector, _Vector]
    translation: _Vector


_SixNumbers = Annotated[tuple[FiniteFloat, ...], Field(min_length=6, max_length=6)]


class _ExpectedError(_Checked):
    position: Annotated[FiniteFloat, Field(ge=0)]
    rotation_deg: Annotated[FiniteFloat, Field(ge=0, le=180)]
    covariance: Annotated[tuple[_SixNumbers, ...], Field(min_length=6, max_length=6)]


class _Answer(_Checked):
    localized: bool
    cam_from_world: _Transform | None
    center: _Vector | None
    num_inliers: _Count
    num_matches: _Count
    log10_chance: FiniteFloat
    reason: _Text | None
    # Servers older than these say nothing about them.
    expected_error: _ExpectedError | None = None
    warning: _Text | None = None
    camera: _UsedCamera | None = None
    searched: Annotated[FiniteFloat, Field(ge=0, le=1)] = 1.0


_Model = TypeVar("_Model", bound=BaseModel)


def _read(model: type[_Model], body: bytes, what: str) -> _Model:
    try:
        return model.model_validate_json(body, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise BadAnswer(
            f"the server's answer is not {what}: {printable(place, 60)}: "
            f"{printable(first['msg'], 120)}."
        ) from None


def read_maps(body: bytes) -> tuple[MapInfo, ...]:
    return _read(_MapList, body, "a list of maps").maps


def read_map(body: bytes) -> MapInfo:
    return _read(MapInfo, body, "a description of a map")


def read_points(body: bytes) -> MapPoints:
    return _read(MapPoints, body, "points of a map")


def read_advice(body: bytes) -> Advice:
    return _read(Advice, body, "a plan")


def read_answer(body: bytes, release: KeypointRelease) -> Localization:
    """The pose a server found for this release; what cannot be true is refused.

    A pose that is merely wrong cannot be told from here: only the server has the map.
    """
    answer = _read(_Answer, body, "a localization")
    if answer.num_inliers > len(release) or answer.num_inliers > answer.num_matches:
        raise BadAnswer(
            f"the server claims {answer.num_inliers} inliers among {answer.num_matches} matches "
            f"for {len(release)} keypoints; the answer is not used."
        )
    reason = None if answer.reason is None else printable(answer.reason)
    if (answer.cam_from_world is not None) is not answer.localized:
        raise BadAnswer("the server contradicts itself on whether it found a pose.")
    if answer.cam_from_world is None:
        return Localization(
            None,
            answer.num_inliers,
            answer.num_matches,
            answer.log10_chance,
            reason or "the server gave no reason",
            searched=answer.searched,
        )
    try:
        pose = Pose(
            np.array(answer.cam_from_world.rotation), np.array(answer.cam_from_world.translation)
        )
    except InvalidInput as error:
        raise BadAnswer(f"the server's pose cannot be one: {error}") from None
    size = 1 + float(np.abs(pose.translation).max())
    if answer.center is None or not np.allclose(
        pose.center, answer.center, rtol=0, atol=1e-6 * size
    ):
        raise BadAnswer("the server's pose and the center it gives are not the same place.")
    return Localization(
        pose,
        answer.num_inliers,
        answer.num_matches,
        answer.log10_chance,
        reason,
        error=_error(answer.expected_error),
        warning=None if answer.warning is None else printable(answer.warning),
        camera=_camera(answer.camera),
        searched=answer.searched,
    )


def _error(told: _ExpectedError | None) -> PoseError | None:
    if told is None:
        return None
    return PoseError(told.position, told.rotation_deg, np.array(told.covariance))


def _camera(told: _UsedCamera | None) -> Camera | None:
    if told is None:
        return None
    try:
        return Camera(told.model, told.width, told.height, told.params)
    except InvalidInput as error:
        raise BadAnswer(f"the server's camera cannot be one: {error}") from None
