"""The studio as it is served: every file, a strict policy, and nothing that takes a picture."""

from __future__ import annotations

import http.client
import io
import tarfile
import threading
from pathlib import Path
from queue import Queue

import pytest

from sfumato.core.errors import InvalidInput
from sfumato.dictionary.bundled import resolve
from sfumato.studio import files
from sfumato.studio.files import WORDS, file_names, has_runtime, read_file, write_studio
from sfumato.studio.serve import Studio, serve_studio


@pytest.fixture(scope="module")
def port() -> int:
    told: Queue[int] = Queue()
    threading.Thread(
        target=serve_studio,
        args=(Studio(),),
        kwargs={"host": "127.0.0.1", "port": 0, "ready": lambda _, number: told.put(number)},
        daemon=True,
    ).start()
    return told.get(timeout=60)


def ask(port: int, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers=headers)
    return connection.getresponse()


def test_every_file_of_the_page_is_answered_with_a_policy_that_lets_nothing_out(port: int) -> None:
    for name in ("", "index.html", "networks/sift-raw.onnx", "examples/astronaut.jpg"):
        answer = ask(port, f"/{name}")
        assert answer.status == 200
        assert answer.read() == read_file(name or "index.html")
        policy = answer.getheader("Content-Security-Policy") or ""
        assert policy.startswith("default-src 'none'")
        assert "connect-src 'self';" in policy
        assert answer.getheader("Referrer-Policy") == "no-referrer"


def test_the_words_are_the_bundled_dictionary_as_one_archive(port: int) -> None:
    with tarfile.open(fileobj=io.BytesIO(ask(port, f"/{WORDS}").read())) as archive:
        words = archive.extractfile("words.npy")
        assert words is not None
        assert words.read() == (resolve(files.DICTIONARY) / "words.npy").read_bytes()


def test_a_file_that_is_known_is_not_sent_again(port: int) -> None:
    tag = ask(port, "/index.html").getheader("ETag") or ""
    again = ask(port, "/index.html", **{"If-None-Match": tag})
    assert (again.status, again.read()) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/../serve.py", "/%2e%2e/serve.py", "//etc/passwd", "/assets/", "/networks/README.md"]
)
def test_no_address_becomes_a_path(port: int, path: str) -> None:
    assert ask(port, path).status == 404


def test_nothing_takes_a_picture(port: int) -> None:
    for method in ("POST", "PUT"):
        assert ask(port, "/", method).status == 501


def test_a_port_that_is_taken_is_told_in_a_sentence(port: int) -> None:
    with pytest.raises(InvalidInput, match="choose another one"):
        serve_studio(Studio(), host="127.0.0.1", port=port, ready=lambda *_: None)


def test_one_server_may_be_allowed_in_the_policy_and_in_the_page() -> None:
    studio = Studio("https://maps.example/")
    assert "connect-src 'self' https://maps.example;" in studio.policy
    page = (studio.answer("/") or (b"", ""))[0].decode()
    assert page.count("connect-src 'self' https://maps.example") == 1
    assert '<meta name="sfumato-server" content="https://maps.example">' in page


@pytest.mark.parametrize(
    "server",
    [
        "maps.example",
        "ftp://x",
        "https://",
        "https://a;b",
        "https://a/path",
        "https://*",
        "https://u@h",
    ],
)
def test_a_server_that_could_change_the_policy_is_refused(server: str) -> None:
    with pytest.raises(InvalidInput, match="must be an address like"):
        Studio(server)


def test_the_studio_is_written_as_plain_files(tmp_path: Path) -> None:
    assert write_studio(tmp_path / "site") == len(file_names())
    for name in ("index.html", WORDS, "networks/sift-frames.onnx"):
        assert (tmp_path / "site" / name).read_bytes() == read_file(name)


def test_a_place_that_cannot_be_written_is_told_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="choose another one"):
        write_studio(tmp_path / "file" / "site")


def test_whether_networks_run_depends_on_the_runtime_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "RUNTIME", tmp_path)
    assert not has_runtime()
    (tmp_path / "ort.wasm.gz").write_bytes(b"packed")
    assert has_runtime()
    assert read_file("runtime/ort.wasm.gz") == b"packed"
