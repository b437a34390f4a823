"""TLS: the certificate is always checked, also by the client's own connections."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pretend_server import KEY
from sfumato.client import AsyncClient, Client
from sfumato.client.errors import Unreachable
from sfumato.core.errors import InvalidInput


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b'{"maps": []}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        return


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up on a certificate is what the test is about."""


def self_signed(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sfumato test")])
    now = datetime.datetime.now(datetime.UTC)
    alternatives = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, secret = folder / "cert.pem", folder / "key.pem"
    pem.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem, secret


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    pem, secret = self_signed(tmp_path_factory.mktemp("tls"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, secret)
    with Quiet(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}", pem
        server.shutdown()
        thread.join(60)


def test_an_unknown_certificate_is_refused(secure: tuple[str, Path]) -> None:
    url, _ = secure
    with Client(url, KEY, tries=1) as client, pytest.raises(Unreachable, match=r"(?i)certificate"):
        client.maps()


def test_a_certificate_of_ones_own_can_be_trusted(secure: tuple[str, Path]) -> None:
    url, pem = secure
    trusted = ssl.create_default_context(cafile=str(pem))
    with Client(url, KEY, verify=trusted) as client:
        assert client.maps() == ()
        assert client.maps() == ()

    async def ask() -> object:
        async with AsyncClient(url, KEY, verify=trusted) as client:
            return await client.maps()

    assert asyncio.run(ask()) == ()
    wrong_name = url.replace("127.0.0.1", "localhost")
    with Client(wrong_name, KEY, verify=trusted, tries=1) as client, pytest.raises(Unreachable):
        client.maps()


def test_tls_cannot_be_switched_off() -> None:
    blind = ssl.create_default_context()
    blind.check_hostname = False
    with pytest.raises(InvalidInput, match="host names"):
        Client("https://maps.example", KEY, verify=blind)
    blind.verify_mode = ssl.CERT_NONE
    with pytest.raises(InvalidInput, match="certificates"):
        Client("https://maps.example", KEY, verify=blind)
