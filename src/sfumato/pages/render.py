"""Pages from templates: one file of HTML that needs nothing from anywhere else.

Text that comes from files, servers or the command line is escaped by the templates. Knows no
party of the threat model, so that every one may use it.
"""

from __future__ import annotations

import base64
import io
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from numpy.typing import NDArray

from sfumato import __version__

_FOLDER = Path(__file__).parent
_QUALITY = 84


def render(template: str, **values: Any) -> str:
    """The page of one of the files in `templates`, with its style sheets inside."""
    page = _environment().get_template(template).render(values)
    # A line must not break inside "ε = 8".
    return page.replace("ε = ", "ε\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader([_FOLDER / "templates", _FOLDER / "styles"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["version"] = __version__
    made.filters |= {
        "jpeg": embedded_jpeg,
        "thousands": "{:,.0f}".format,
        "short": "{:g}".format,
        "odds": odds,
    }
    return made


def embedded_jpeg(image: NDArray[Any]) -> str:
    """A picture, 8 bits or values in 0…1, as a data: address."""
    from PIL import Image

    pixels = image if image.dtype == np.uint8 else np.rint(np.clip(image, 0, 1) * 255)
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels, np.uint8)).save(buffer, "JPEG", quality=_QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def odds(epsilon: float) -> str:
    """e^ε, as a person reads it."""
    value = math.exp(epsilon)
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"
