"""Mutated files of every kind: our own error or a good read, and nothing else is opened.

    python tests/endurance/files.py --count 10000 [--seed 0] [--batch 250]

HDF5, ONNX, .npy, .npz, COLMAP models, idx, pictures, and folders of maps and dictionaries are
changed: bits, lengths, pieces, and what the format itself offers to reach other files. Each batch
is read in a process of its own, so that a crash is seen and costs one file. Files that nobody may
read lie in its working directory: the system reports every opening of them, whichever library
does it. Where strace is installed, every other opening is looked at as well.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import select
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from endurance.file_mutations import CANARIES, make_file
from endurance.file_reading import MARK, READY
from endurance.file_seeds import make_seeds
from endurance.rig import Findings, scratch
from hostile_files import write_h5_target

_PATIENCE = 300  # seconds for a batch
_MAX_GROWTH = 400 << 20  # bytes of memory that one file may take; features are bounded by 256 MiB
_IN_OPEN, _IN_ACCESS = 0x20, 0x1
_OPENED = re.compile(r'open(?:at2?)?\((?:\w+, )?"([^"]*)", [^)]*\)\s+= \d')


class Watch:
    """The system's report of what is opened or read in some folders, by any code."""

    def __init__(self, *folders: Path) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in folders:
            added = libc.inotify_add_watch(self._handle, os.fsencode(folder), _IN_OPEN | _IN_ACCESS)
            if self._handle < 0 or added < 0:
                raise OSError(ctypes.get_errno(), "the folder cannot be watched", str(folder))

    def touched(self) -> bool:
        """Whether a file was opened since the last look; a folder that is listed does not count."""
        seen = False
        while select.select([self._handle], [], [], 0)[0]:
            data = os.read(self._handle, 1 << 16)
            at = 0
            while at < len(data):
                mask = int.from_bytes(data[at + 4 : at + 8], "little")
                seen |= not mask & 0x40000000  # IN_ISDIR
                at += 16 + int.from_bytes(data[at + 12 : at + 16], "little")
        return seen

    def close(self) -> None:
        os.close(self._handle)


def make_canaries(folder: Path, map_seed: Path) -> None:
    """What hostile files refer to: all of it consists of MARK."""
    folder.mkdir()
    (folder / "key").write_bytes(MARK * 64)
    write_h5_target(folder / "secret.h5")
    with h5py.File(folder / "secret.h5", "a") as file:
        for name in ("secret", "picture/descriptors", "db/1.jpg/descriptors"):
            dataset = file[name]
            size = dataset.size * dataset.dtype.itemsize
            dataset[:] = memoryview(MARK * (size // len(MARK))).cast("B").cast("f", dataset.shape)
    shutil.copytree(map_seed, folder / "map")
    assert {path.name for path in folder.iterdir()} == set(CANARIES)


class Trial:
    """One run over many files."""

    def __init__(self, folder: Path, findings: Findings, *, trace: bool) -> None:
        self._findings = findings
        self._trace = folder / "trace" if trace else None
        self._seeds, self._canary = folder / "seeds", folder / "canary"
        self._given = folder / "given"
        seeds = make_seeds(self._seeds)
        self._kinds = seeds
        listed = [(path.name, kind) for kind, paths in seeds.items() for path in paths]
        (self._seeds / "kinds.json").write_text(json.dumps(listed))
        make_canaries(self._canary, seeds["map"][0])
        self._watch = Watch(self._canary, self._canary / "map")
        self.outcomes: dict[str, Counter[str]] = {}
        self.largest = 0

    def batch(self, numbers: range) -> None:
        """Make these files, read them, and go on behind one that ended the process."""
        shutil.rmtree(self._given, ignore_errors=True)
        self._given.mkdir()
        kinds = {
            number: make_file(self._kinds, self._canary, self._given / str(number), number)
            for number in numbers
        }
        left = list(numbers)
        while left:
            self._watch.touched()
            done, end = self._read(kinds, left)
            if self._watch.touched():
                self._findings.add(f"a file outside was opened, by one of {left[0]} … {left[-1]}")
            self._judge_trace()
            left = left[done:]
            if left:
                self._count(kinds[left[0]], "CRASHED")
                self._findings.add(f"file {left[0]} ({kinds[left[0]]}) ended the process: {end}")
                left = left[1:]

    def _read(self, kinds: dict[int, str], numbers: list[int]) -> tuple[int, str]:
        """How many were read, and how the process ended."""
        named = [text for number in numbers for text in (str(number), kinds[number])]
        program = Path(__file__).with_name("file_reading.py")
        command = [sys.executable, str(program), str(self._seeds), str(self._given), *named]
        if self._trace is not None:
            tracing = ["strace", "-f", "--seccomp-bpf", "-qq", "-e", "trace=open,openat,openat2"]
            command = [*tracing, "-o", str(self._trace), *command]
        try:
            ended = subprocess.run(
                command, cwd=self._canary, capture_output=True, text=True, timeout=_PATIENCE
            )
            output, how = ended.stdout, f"code {ended.returncode}, {ended.stderr[-300:]!r}"
        except subprocess.TimeoutExpired as error:
            output, how = (error.stdout or b"").decode(), f"no end after {_PATIENCE} s"
        lines = [json.loads(line) for line in output.splitlines() if line.endswith("}")]
        for told in lines:
            self._judge(told, kinds[told["number"]])
        return len(lines), how

    def _judge(self, told: dict[str, object], kind: str) -> None:
        outcome, opened, grown = str(told["outcome"]), told["opened"], told["grown"]
        self._count(kind, outcome if outcome.isalpha() else outcome.split()[0])
        named = f"file {told['number']} ({kind})"
        if outcome.split()[0].isupper():
            self._findings.add(f"{named}: {outcome}")
        self._findings.require(not opened, f"{named} made Python open {opened}")
        assert isinstance(grown, int)
        self.largest = max(self.largest, grown)
        self._findings.require(grown < _MAX_GROWTH, f"{named} took {grown:,} bytes of memory")

    def _judge_trace(self) -> None:
        if self._trace is None:
            return
        _, ready, after = self._trace.read_text(errors="replace").partition(READY)
        self._findings.require(bool(ready), "strace saw no reading at all")
        allowed = (str(self._given), sys.prefix, sys.base_prefix, "/proc/", "/sys/", "/usr/lib/")
        source = str(Path(__file__).resolve().parents[2])
        for path in set(_OPENED.findall(after)):
            if not path.startswith((*allowed, source, "/lib/", "/etc/ld.so.cache")):
                self._findings.add(f"a library opened {path}")

    def _count(self, kind: str, outcome: str) -> None:
        self.outcomes.setdefault(kind, Counter())[outcome] += 1

    def close(self) -> None:
        self._watch.close()


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="number of the first file")
    parser.add_argument("--batch", type=int, default=250, help="files for one process")
    parser.add_argument("--no-strace", action="store_true", help="watch the canaries alone")
    options = parser.parse_args(words)
    findings = Findings()
    trace = shutil.which("strace") is not None and not options.no_strace
    with scratch() as folder:
        trial = Trial(folder.resolve(), findings, trace=trace)
        end = options.seed + options.count
        for first in range(options.seed, end, options.batch):
            trial.batch(range(first, min(first + options.batch, end)))
        trial.close()
    total: Counter[str] = Counter()
    for kind, counts in sorted(trial.outcomes.items()):
        total.update(counts)
        print(f"{kind:>11}: {counts.total():5} files: {_shown(counts)}")
    print(f"   together: {total.total():5} files: {_shown(total)}")
    print(f"openings by C libraries {'were' if trace else 'were not'} looked at by strace")
    print(f"the hungriest file took {trial.largest / 2**20:.0f} MiB")
    return findings.close()


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{count} × {outcome}" for outcome, count in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
