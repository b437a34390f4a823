"""The wire format does not change by accident: bytes kept in the repository, in both directions.

A test that only encodes and decodes agrees with itself whatever the bytes are. These files were
written once; `python tests/golden_wire.py` says when today's code would write others.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from golden_wire import FOLDER, REFUSED, as_text, content, files, release_of
from golden_wire_cases import cases
from sfumato.core.codecs import CODECS, REPRODUCIBLE
from sfumato.core.errors import InvalidInput, MalformedRelease
from sfumato.core.releases import Release
from sfumato.core.types import CAMERA_MODELS
from sfumato.core.wire import CameraModel, read_header

NAMES = sorted(path.stem for path in FOLDER.glob("*.sfr"))
REASONS = json.loads((REFUSED / "reasons.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_golden_bytes_decode_to_what_is_written_beside_them(name: str) -> None:
    release = Release.from_bytes((FOLDER / f"{name}.sfr").read_bytes())
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert as_text(content(release)) == text


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_beside_golden_bytes_encodes_to_them(name: str) -> None:
    told = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert release_of(told).to_bytes() == (FOLDER / f"{name}.sfr").read_bytes()


@pytest.mark.parametrize("name", sorted(REASONS))
def test_golden_bytes_that_are_no_release_are_refused(name: str) -> None:
    with pytest.raises(MalformedRelease):
        Release.from_bytes((REFUSED / f"{name}.sfr").read_bytes())


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("damaged", "the checksum does not match"),
        ("longer", "announces 136 bytes, got 137"),
        ("truncated", "announces 136 bytes, got 135"),
        ("spare-bits", "not the canonical encoding"),
    ],
)
def test_damage_is_told_apart_from_a_wrong_release(name: str, sentence: str) -> None:
    with pytest.raises(MalformedRelease, match=sentence):
        Release.from_bytes((REFUSED / f"{name}.sfr").read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_a_header_can_be_read_from_its_first_hundred_bytes(name: str) -> None:
    data = (FOLDER / f"{name}.sfr").read_bytes()
    assert read_header(data[:100]) == read_header(data)
    assert read_header(data[:100]).length == len(data)
    with pytest.raises(MalformedRelease, match="at least 104 bytes, got 99"):
        read_header(data[:99])


@pytest.mark.parametrize("name", NAMES)
def test_flags_of_another_kind_are_refused_in_one_sentence(name: str) -> None:
    data = bytearray((FOLDER / f"{name}.sfr").read_bytes())
    allowed = REPRODUCIBLE | read_header(bytes(data)).codec.flags
    for flags in range(16):
        if not flags & ~allowed:
            continue
        data[6] = flags
        data[-4:] = struct.pack("<I", zlib.crc32(data[:-4]))
        with pytest.raises(MalformedRelease, match="unknown flags"):
            Release.from_bytes(bytes(data))


def test_camera_models_have_the_numbers_of_the_wire_format_page() -> None:
    page = Path(__file__).parents[2] / "docs" / "wire-format.md"
    rows = re.findall(r"^\| (\d) \| ([A-Z_]+) \| (.+) \|$", page.read_text("utf-8"), re.MULTILINE)
    assert {(int(number), name) for number, name, _ in rows} == {(m, m.name) for m in CameraModel}
    assert {name: len(params.split(",")) for _, name, params in rows} == CAMERA_MODELS


def test_a_release_of_no_known_kind_cannot_travel() -> None:
    class Other(Release):
        kind = "other"

    with pytest.raises(InvalidInput, match="no wire format is defined for Other"):
        Other().to_bytes()


def test_every_case_has_its_files_and_every_file_its_case() -> None:
    wanted = files()
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == set(wanted)
    for path, data in wanted.items():
        assert path.read_bytes() == data, path.name


def test_golden_files_cover_every_kind_and_every_camera_model() -> None:
    made = cases().values()
    assert {release.kind for release in made} == set(CODECS)
    cameras = {getattr(release, "camera", None) for release in made}
    assert {camera.model for camera in cameras if camera} == set(CAMERA_MODELS)
    assert None in cameras


def test_the_script_refuses_to_replace_bytes_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import golden_wire

    monkeypatch.setattr(golden_wire, "FOLDER", tmp_path)
    monkeypatch.setattr(golden_wire, "REFUSED", tmp_path / "refused")
    monkeypatch.setattr(sys, "argv", ["golden_wire.py"])
    assert golden_wire.main() == 0
    victim = tmp_path / "plain-uint8.sfr"
    victim.write_bytes(b"other")
    assert golden_wire.main() == 1
    assert victim.read_bytes() == b"other"
    monkeypatch.setattr(sys, "argv", ["golden_wire.py", "--overwrite"])
    assert golden_wire.main() == 0
    assert victim.read_bytes() == (FOLDER / victim.name).read_bytes()


def test_anybody_can_run_the_script() -> None:
    script = Path(__file__).parents[1] / "golden_wire.py"
    result = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
