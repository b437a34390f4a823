"""Options of every command that asks a server, and the key that is never on a command line."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from sfumato.cli.options import option
from sfumato.core.errors import InvalidInput

if TYPE_CHECKING:
    from sfumato.client import Client

KEY_VARIABLE = "SFUMATO_KEY"


@dataclass(frozen=True, kw_only=True)
class Server:
    """Who is asked, and how long."""

    server: Annotated[str, option("The server's address, https://…", metavar="URL")]
    key_file: Annotated[
        Path | None, option("File with the server's API key.", shown=f"what {KEY_VARIABLE} holds")
    ] = None
    allow_http: Annotated[bool, option("Send without TLS to another machine than this one.")] = (
        False
    )
    ca_file: Annotated[
        Path | None, option("Certificates (PEM) to trust.", shown="the system's")
    ] = None

    def client(self, *, deadline: float, timeout: float, **options: Any) -> Client:
        from sfumato.client import Client

        return Client(
            self.server,
            self._key(),
            deadline=deadline,
            timeout=min(deadline, timeout),
            allow_http=self.allow_http,
            verify=self._certificates(),
            **options,
        )

    def _key(self) -> str:
        """The API key, from a file or the environment."""
        if self.key_file is None:
            key = os.environ.get(KEY_VARIABLE, "")
            if not key:
                raise InvalidInput(
                    f"a server needs an API key: give --key-file FILE, or set {KEY_VARIABLE}."
                )
            return key.strip()
        try:
            return self.key_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            raise InvalidInput(f"{self.key_file} cannot be read as a key file.") from None

    def _certificates(self) -> ssl.SSLContext | None:
        """Whom to trust for TLS: the system's certificates, or only these."""
        if self.ca_file is None:
            return None
        try:
            return ssl.create_default_context(cafile=str(self.ca_file))
        except (OSError, ssl.SSLError) as error:
            raise InvalidInput(
                f"{self.ca_file} holds no certificates that can be used: {error}."
            ) from None


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a server's map, within which limits."""

    map: Annotated[str, option("The map's name or id on the server.", metavar="NAME")]
    max_epsilon: Annotated[
        float | None, option("Refuse to send more ε per descriptor.", shown="that of --epsilon")
    ] = None
    min_words: Annotated[int, option("Refuse to send words of a smaller |K|.")] = 1024
    max_exact: Annotated[
        float | None,
        option(
            "Refuse to send a picture that costs more: E at δ = 1e-6.",
            metavar="E",
            shown="no limit",
        ),
    ] = None
    deadline: Annotated[float, option("Seconds the answer may take.")] = 120.0

    def client(self, server: Server, **options: Any) -> Client:
        return server.client(
            map=self.map,
            max_epsilon=self.max_epsilon,
            min_words=self.min_words,
            max_exact=self.max_exact,
            deadline=self.deadline,
            timeout=30.0,
            **options,
        )


@dataclass(frozen=True, kw_only=True)
class MaybeServer:
    """The same options where a command can do without a server."""

    rules: ClassVar = {"--key-file --allow-http --ca-file --deadline": "--server"}

    server: Annotated[
        str | None,
        option("Ask this server's map instead of one here.", metavar="URL", shown="none"),
    ] = None
    key_file: Annotated[
        Path | None, option("File with the server's API key.", shown=f"what {KEY_VARIABLE} holds")
    ] = None
    allow_http: Annotated[bool, option("Send without TLS to another machine than this one.")] = (
        False
    )
    ca_file: Annotated[
        Path | None, option("Certificates (PEM) to trust.", shown="the system's")
    ] = None
    deadline: Annotated[float, option("Seconds each answer may take.")] = 120.0

    def given(self) -> Server | None:
        """Who is asked; None where the map is here."""
        if self.server is None:
            return None
        return Server(
            server=self.server,
            key_file=self.key_file,
            allow_http=self.allow_http,
            ca_file=self.ca_file,
        )
