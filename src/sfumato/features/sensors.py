"""Widths of camera sensors, for photographs that tell millimetres and nothing else.

Public facts from the makers' data sheets, in millimetres. Phones and most cameras since about
2008 write the focal length in 35 mm terms and need no entry; add yours where it is missing.
"""

from __future__ import annotations

import re

#: What a name begins with, in lower case without the maker → width of the sensor in mm.
_WIDTHS = {
    "canon": {
        "eos d30": 22.7, "eos d60": 22.7, "eos 10d": 22.7, "eos 300d": 22.7,
        "eos 20d": 22.5, "eos 30d": 22.5, "eos 350d": 22.2, "eos 400d": 22.2, "eos 450d": 22.2,
        "eos 40d": 22.2, "eos 50d": 22.3, "eos 500d": 22.3, "eos 550d": 22.3, "eos 600d": 22.3,
        "eos 7d": 22.3, "eos 60d": 22.3, "eos 70d": 22.5, "eos 1000d": 22.2,
        "eos digital rebel xti": 22.2, "eos digital rebel xt": 22.2, "eos digital rebel": 22.7,
        "eos 5d": 36.0, "eos 6d": 36.0, "eos-1ds": 36.0, "eos r5": 36.0, "eos r6": 36.0,
        "powershot g9": 7.44, "powershot g10": 7.44, "powershot s45": 7.18,
        "powershot g5": 7.18,
    },
    "nikon": {
        "d1": 23.7, "d40": 23.7, "d50": 23.7, "d70": 23.7, "d80": 23.6, "d90": 23.6,
        "d100": 23.7, "d200": 23.6, "d300": 23.6, "d3000": 23.6, "d5000": 23.6, "d7000": 23.6,
        "d3": 36.0, "d600": 35.9, "d700": 36.0, "d750": 35.9, "d800": 35.9, "d850": 35.9,
    },
    "olympus": {"e-": 17.3},
    "panasonic": {"dmc-g": 17.3, "dmc-l1": 17.3},
    "pentax": {"ist": 23.5, "k10d": 23.5, "k100d": 23.5, "k-5": 23.7, "k20d": 23.4},
    "sony": {"dslr-a100": 23.6, "dslr-a700": 23.5, "dslr-a900": 35.9, "ilce-7": 35.8},
}  # fmt: skip
_MAKERS = tuple(_WIDTHS)


def sensor_width(make: str, model: str) -> float | None:
    """The width of a camera's sensor in mm, by what EXIF calls it; None for one not listed.

    >>> from sfumato.features.sensors import sensor_width
    >>> sensor_width("Canon", "Canon EOS D60"), sensor_width("Canon", "Canon EOS 5D Mark II")
    (22.7, 36.0)
    """
    said = re.sub(r"[^a-z0-9 .-]+", " ", f"{make} {model}".lower().replace("*", ""))
    maker = next((name for name in _MAKERS if name in said), None)
    if maker is None:
        return None
    name = said.rpartition(maker)[2].replace("corporation", "").strip()
    fitting = [known for known in _WIDTHS[maker] if _begins(name, known)]
    return _WIDTHS[maker][max(fitting, key=len)] if fitting else None


def _begins(name: str, known: str) -> bool:
    """Whether a name begins with a known one that is not cut in the middle of a number."""
    rest = name.removeprefix(known)
    return name.startswith(known) and not (known[-1].isdigit() and rest[:1].isdigit())
