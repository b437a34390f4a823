"""What a network is, apart from its weights; a checkpoint of another one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, Self

from sfumato.adversary.invert.sparse import STRIDE, MapOptions
from sfumato.core.checks import check_choice, check_count
from sfumato.core.errors import DamagedFile, Mismatch
from sfumato.core.extras import need

NORMS = ("group", "batch", "none")
FRAMES = ("none", "inferred", "given", "either")


@dataclass(frozen=True)
class NetworkShape:
    """What checkpoints tell of a network; CHECKPOINT is what they call themselves."""

    CHECKPOINT: ClassVar[str]
    #: Fields that older files lack, and what networks were without them.
    LATER: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Read back `to_json`; anything else is damage."""
        wanted = {field.name for field in fields(cls)}
        if not isinstance(content, Mapping) or {*cls.LATER, *content} != wanted:
            raise DamagedFile("the description of the network is not one; restore the file.")
        return cls(**{**cls.LATER, **content})

    def check_same(self, other: NetworkShape) -> None:
        """Refuse a checkpoint of another network, naming the first difference."""
        for name, value in self.to_json().items():
            stored = getattr(other, name)
            if stored != value:
                raise Mismatch(
                    f"the checkpoint is of another network: its {name} is {stored!r}, "
                    f"{value!r} is asked for; use its settings or another folder."
                )


@dataclass(frozen=True)
class Architecture(NetworkShape):
    """The generator's shape, and what its input means.

    kind          input kind, see `encoders.py`; channels columns of its rows, geometry included
    extractor     what the descriptors come from
    width         channels of the first level, on blocks of 2×2 pixels; the second has three
                  times as many, each further one twice as many, up to max_channels
    depth         levels, 5 in the paper
    blocks        convolutions of a level on the way down, and on the way up; the first has one
    embedding     channels of an embedded row
    norm          "batch" as in the paper; "group" suits small batches; or "none"
    neighbours, radius, covering   see `sparse.MapOptions`; covering only with frames
    patches       channels of the patch that each row is read as, where there are frames
    frames        how the attacker knows sizes and angles of keypoints, see `encoders.py`
    """

    CHECKPOINT: ClassVar[str] = "painter checkpoint"
    LATER: ClassVar[Mapping[str, Any]] = MappingProxyType(
        {"blocks": 1, "patches": 0, "covering": 0}
    )

    kind: str = "raw"
    channels: int = 128
    extractor: str = "sift"
    width: int = 32
    depth: int = 5
    blocks: int = 2
    max_channels: int = 256
    embedding: int = 48
    hidden: int = 128
    norm: str = "group"
    neighbours: int = 3
    radius: float = 48.0
    frames: str = "none"
    patches: int = 12
    covering: int = 3

    def __post_init__(self) -> None:
        check_count("channels", self.channels, low=1, high=1 << 16)
        check_count("width", self.width, low=2, high=256)
        check_count("depth", self.depth, low=2, high=7)
        check_count("blocks", self.blocks, low=1, high=8)
        check_count("patches", self.patches, low=0, high=64)
        check_count("max_channels", self.max_channels, low=self.width, high=4096)
        check_count("embedding", self.embedding, low=2, high=1024)
        check_count("hidden", self.hidden, low=2, high=4096)
        check_choice("norm", self.norm, NORMS)
        check_frames(self.frames)
        _ = self.map_options  # refuses a bad radius or number of neighbours

    @property
    def map_options(self) -> MapOptions:
        covering = self.covering if self.framed else 0
        multiple = STRIDE << (self.depth - 1)
        return MapOptions(self.neighbours, self.radius, multiple, self.framed, covering)

    @property
    def framed(self) -> bool:
        """Whether every keypoint comes with a size and an angle, inferred or given."""
        return self.frames != "none"

    @property
    def levels(self) -> tuple[int, ...]:
        """Channels of each level, finest first."""
        deeper = (min(3 * self.width << i, self.max_channels) for i in range(self.depth - 1))
        return (self.width, *deeper)


@dataclass(frozen=True)
class FrameArchitecture(NetworkShape):
    """The shape of the network for frames. rounds = 0 asks no neighbour: a baseline."""

    CHECKPOINT: ClassVar[str] = "frames checkpoint"

    width: int = 64
    hidden: int = 128
    rounds: int = 3
    neighbours: int = 16

    def __post_init__(self) -> None:
        check_count("width", self.width, low=4, high=1024)
        check_count("hidden", self.hidden, low=4, high=4096)
        check_count("rounds", self.rounds, low=0, high=16)
        check_count("neighbours", self.neighbours, low=1, high=256)


def check_frames(frames: str) -> str:
    """Refuse a way of knowing frames that does not exist."""
    return check_choice("frames", frames, FRAMES)


def check_torch(purpose: str) -> None:
    """Refuse with the way out where torch is not installed."""
    need("train", purpose, "torch")
