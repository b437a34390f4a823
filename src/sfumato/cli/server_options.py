"""Options of every command that asks a server, and the key that is never on a command line."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Annotated

import typer

from sfumato.core.errors import InvalidInput

KEY_VARIABLE = "SFUMATO_KEY"

KeyFileOption = Annotated[
    Path | None,
    typer.Option(help=f"File with the server's API key; without it {KEY_VARIABLE} is read."),
]
AllowHttpOption = Annotated[
    bool, typer.Option("--allow-http", help="Send without TLS to another machine than this one.")
]
CaFileOption = Annotated[
    Path | None, typer.Option(help="Certificates (PEM) to trust instead of the system's.")
]


def read_key(file: Path | None) -> str:
    """The API key, from a file or the environment."""
    if file is None:
        key = os.environ.get(KEY_VARIABLE, "")
        if not key:
            raise InvalidInput(
                f"a server needs an API key: give --key-file FILE, or set {KEY_VARIABLE}."
            )
        return key.strip()
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"{file} cannot be read as a key file.") from None


def read_certificates(file: Path | None) -> ssl.SSLContext | None:
    """Whom to trust for TLS: the system's certificates, or only these."""
    if file is None:
        return None
    try:
        return ssl.create_default_context(cafile=str(file))
    except (OSError, ssl.SSLError) as error:
        raise InvalidInput(f"{file} holds no certificates that can be used: {error}.") from None
