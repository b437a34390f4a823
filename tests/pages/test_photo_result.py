"""What may be asked about a photograph."""

from __future__ import annotations

import pytest

from sfumato.core.errors import InvalidInput
from sfumato.pages.photo_result import PhotoSettings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimensions": (1,)}, "dimension"),
        ({"dimensions": (4, 4)}, "may be given once"),
        ({"epsilons": (float("nan"),)}, "epsilon"),
        ({"epsilons": (0.0,)}, "epsilon"),
        ({"attacks": ("magic",)}, "attacks must be of nearest"),
        ({"max_side": 8}, "max_side"),
    ],
)
def test_settings_that_make_no_sense_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        PhotoSettings(**change)  # type: ignore[arg-type]
