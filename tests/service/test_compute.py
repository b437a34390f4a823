"""Work in processes: stopped when it must be, limited in what it takes, and never in the way."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import computations
from sfumato.service import compute, processes
from sfumato.service.compute import ComputeQueue
from sfumato.service.errors import ServiceError, busy
from sfumato.service.processes import Limits

MIB = 1 << 20


@pytest.fixture
def line() -> Iterator[ComputeQueue]:
    made = ComputeQueue(
        "test", places=2, waiting=8, limits=Limits(memory_bytes=200 * MIB, cpu_seconds=1)
    )
    yield made
    made.close()


def run(
    line: ComputeQueue, work: Any, tenant: str = "me", seconds: float = 120, **more: Any
) -> Any:
    given = more.pop("given", {})
    return asyncio.run(line.run(tenant, work, given, seconds=seconds, **more))


def failure(line: ComputeQueue, work: Any, **more: Any) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        run(line, work, **more)
    return caught.value


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_work_happens_in_another_process(line: ComputeQueue) -> None:
    answer = run(line, computations.echo, given={"a": 1}, body=bytes(300_000))
    assert (answer["given"], answer["length"]) == ({"a": 1}, 300_000)
    assert answer["pid"] != os.getpid()
    assert run(line, computations.echo)["pid"] == answer["pid"]


def test_a_deadline_ends_the_process(line: ComputeQueue, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    late = failure(line, computations.never, given={"begun": str(begun)}, seconds=1.0)
    assert (late.status, late.code) == (503, "busy")
    while line.running:
        time.sleep(0.01)
    assert not is_alive(int(begun.read_text()))
    assert run(line, computations.echo)["length"] == 0


def test_work_is_stopped_when_whoever_asked_has_gone(line: ComputeQueue, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    async def ask_and_leave() -> None:
        work = asyncio.create_task(
            line.run("me", computations.never, {"begun": str(begun)}, seconds=600)
        )
        while not begun.exists() or not begun.read_text():
            await asyncio.sleep(0.01)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(ask_and_leave())
    while line.running:
        time.sleep(0.01)
    assert not is_alive(int(begun.read_text()))


def test_compiled_work_is_stopped_by_its_processor_time(line: ComputeQueue) -> None:
    stopped = failure(line, computations.spin)
    assert (stopped.status, stopped.code) == (413, "too-much-work")
    assert "more than 1 s of computing" in stopped.detail


def test_processor_time_is_counted_anew_for_every_request(line: ComputeQueue) -> None:
    for _ in range(2):
        assert failure(line, computations.spin).code == "too-much-work"
        assert run(line, computations.echo)["length"] == 0


def test_memory_of_one_piece_of_work_is_limited(line: ComputeQueue) -> None:
    assert run(line, computations.allocate, given={"bytes": 100 * MIB}) > 0
    too_much = failure(line, computations.allocate, given={"bytes": 400 * MIB})
    assert (too_much.status, too_much.code) == (413, "too-much-work")
    assert "200 MiB" in too_much.detail
    assert run(line, computations.allocate, given={"bytes": 100 * MIB}) > 0


def test_a_dying_process_writes_no_picture_of_its_memory_and_limits_are_of_the_kernel(
    line: ComputeQueue,
) -> None:
    for _ in range(2):
        bounds = run(line, computations.bounds)
        assert bounds["core"] == [0, 0]  # a core file would hold what somebody sent
        assert bounds["data"][0] >= 200 * MIB
        # One second, and the rest of the one that has begun; what was used before is not counted.
        assert 0 < bounds["cpu"][0] - bounds["used"] <= 2


def test_a_process_that_dies_costs_one_answer_and_nothing_else(line: ComputeQueue) -> None:
    assert failure(line, computations.die).status == 500
    assert run(line, computations.echo)["length"] == 0


def test_what_went_wrong_inside_is_not_told(
    line: ComputeQueue, capfd: pytest.CaptureFixture[str]
) -> None:
    error = failure(line, computations.fail)
    assert (error.status, error.code) == (500, "internal")
    logged = capfd.readouterr().err
    assert "secret" not in logged + error.detail


def test_work_is_charged_before_it_is_done_and_may_be_refused(line: ComputeQueue) -> None:
    charged: list[int] = []
    assert run(line, computations.costly, given={"cost": 7}, charge=charged.append) == "done"
    assert charged == [7]

    def refuse(cost: int) -> None:
        raise busy(f"{cost} is too much.", 3)

    refused = failure(line, computations.costly, given={"cost": 8}, charge=refuse)
    assert refused.detail == "8 is too much."
    assert refused.headers == {"Retry-After": "3"}


def test_long_work_of_one_tenant_does_not_stop_another(
    line: ComputeQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice as many endless jobs as places, and another tenant is answered all the same."""
    monkeypatch.setattr(compute, "LONG_SECONDS", 0.05)
    files = [tmp_path / f"begun-{number}" for number in range(4)]

    async def ask() -> Any:
        loud = [
            asyncio.create_task(
                line.run("loud", computations.never, {"begun": str(file)}, seconds=600)
            )
            for file in files
        ]
        while sum(file.exists() for file in files) < 2:
            await asyncio.sleep(0.01)
        answers = [await line.run("quiet", computations.echo, {}, seconds=600) for _ in range(5)]
        for one in loud:
            one.cancel()
        await asyncio.gather(*loud, return_exceptions=True)
        return answers

    answers = asyncio.run(ask())
    assert {answer["nice"] for answer in answers} == {os.nice(0)}
    assert sum(file.exists() for file in files) == 2


def test_long_work_goes_on_at_low_priority_once_another_tenant_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute, "LONG_SECONDS", 0.05)
    line = ComputeQueue("test", places=1, waiting=4, limits=Limits(memory_bytes=200 * MIB))
    begun = tmp_path / "begun"

    async def ask() -> tuple[int, int]:
        work = asyncio.create_task(
            line.run("loud", computations.never, {"begun": str(begun)}, seconds=600)
        )
        while not begun.exists() or not begun.read_text():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        before = os.getpriority(os.PRIO_PROCESS, int(begun.read_text()))
        await line.run("quiet", computations.echo, {}, seconds=600)
        after = os.getpriority(os.PRIO_PROCESS, int(begun.read_text()))
        work.cancel()
        return before, after

    assert asyncio.run(ask()) == (os.nice(0), 19)
    line.close()


def test_closing_stops_everything(tmp_path: Path) -> None:
    line = ComputeQueue("test", places=1, waiting=4, limits=Limits(memory_bytes=200 * MIB))
    begun = tmp_path / "begun"

    async def ask() -> list[Any]:
        work = [
            asyncio.create_task(
                line.run("me", computations.never, {"begun": str(begun)}, seconds=600)
            )
            for _ in range(3)
        ]
        while not begun.exists() or not begun.read_text():
            await asyncio.sleep(0.01)
        await asyncio.to_thread(line.close)
        return await asyncio.gather(*work, return_exceptions=True)

    answers = asyncio.run(ask())
    assert [answer.code for answer in answers] == ["busy"] * 3
    assert not is_alive(int(begun.read_text()))


def test_a_process_that_forgets_to_close_ends_all_the_same(tmp_path: Path) -> None:
    """Computing processes ignore SIGTERM, and Python waits for its children when it ends."""
    program = (
        "import asyncio, computations\n"
        "from sfumato.service.compute import ComputeQueue\n"
        "from sfumato.service.processes import Limits\n"
        "if __name__ == '__main__':\n"
        "    line = ComputeQueue('x', places=1, waiting=1, limits=Limits(memory_bytes=1 << 28))\n"
        "    print(asyncio.run(line.run('x', computations.echo, {}, seconds=600))['pid'])\n"
    )
    (tmp_path / "program.py").write_text(program)
    paths = os.pathsep.join([str(Path(computations.__file__).parent), *sys.path])
    shown = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    assert not is_alive(int(shown.stdout))


def test_a_process_that_cannot_be_started_is_started_later(
    line: ComputeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No room for a process, for a moment: one answer says so, and the next one is right."""
    with monkeypatch.context() as patch:
        patch.setattr(processes._context, "Process", FailingProcess)
        for _ in range(3):
            assert failure(line, computations.echo).code == "busy"
    assert run(line, computations.echo)["length"] == 0


class FailingProcess:
    """A process for which there is no room."""

    def __init__(self, **_: Any) -> None:
        pass

    def start(self) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")


def test_a_queue_warms_up_as_soon_as_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "_TRY_AGAIN_SECONDS", 0.01)
    with monkeypatch.context() as patch:
        patch.setattr(processes._context, "Process", FailingProcess)
        made = ComputeQueue("test", places=1, waiting=1, limits=Limits(200 * MIB), warm=True)
        time.sleep(0.1)
        assert not made.is_warm
    while not made.is_warm:
        time.sleep(0.01)
    made.close()


def test_work_past_its_deadline_is_late_whoever_notices_first(
    line: ComputeQueue, tmp_path: Path
) -> None:
    """A busy event loop notices after the thread that stopped the work: still no empty answer."""
    begun = tmp_path / "begun"

    async def ask() -> Any:
        work = asyncio.create_task(
            line.run("me", computations.never, {"begun": str(begun)}, seconds=1.0)
        )
        await asyncio.sleep(0)
        time.sleep(1.2)  # the loop itself stands still meanwhile
        while line.running:
            time.sleep(0.01)
        return await work

    with pytest.raises(ServiceError) as late:
        asyncio.run(ask())
    assert late.value.code == "busy"
