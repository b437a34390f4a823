"""Whose turn it is, decided without any process."""

from __future__ import annotations

from sfumato.service.fair_queue import LONG_PER_PLACE, FairQueue


def taken(queue: FairQueue[str]) -> str:
    job = queue.take()
    assert job is not None
    return job[1]


def test_tenants_take_turns_however_much_one_of_them_asks() -> None:
    queue: FairQueue[str] = FairQueue(places=1, waiting=10)
    for number in range(4):
        queue.put("loud", f"loud {number}")
    queue.put("quiet", "quiet 0")
    order = []
    for _ in range(5):
        order.append(taken(queue))
        queue.done(order[-1].split()[0], 1.0, has_left=False)
    assert order == ["loud 0", "quiet 0", "loud 1", "loud 2", "loud 3"]


def test_a_turn_is_measured_in_seconds_not_in_requests() -> None:
    queue: FairQueue[str] = FairQueue(places=1, waiting=20)
    for number in range(5):
        queue.put("heavy", f"heavy {number}")
    for number in range(8):
        queue.put("light", f"light {number}")
    order = []
    for _ in range(9):
        order.append(taken(queue))
        tenant = order[-1].split()[0]
        queue.done(tenant, 4.0 if tenant == "heavy" else 1.0, has_left=False)
    assert [name.split()[0] for name in order].count("heavy") == 2


def test_who_was_away_has_not_saved_anything_up() -> None:
    queue: FairQueue[str] = FairQueue(places=1, waiting=20)
    for _ in range(5):
        queue.put("old", "old")
        assert taken(queue) == "old"
        queue.done("old", 10.0, has_left=False)
    queue.put("old", "old")
    for _ in range(3):
        queue.put("new", "new")
    order = []
    for _ in range(4):
        order.append(taken(queue))
        queue.done(order[-1], 10.0, has_left=False)
    assert order.index("old") <= 2


def test_a_full_line_turns_away_the_newest_of_who_has_most_in_it() -> None:
    queue: FairQueue[str] = FairQueue(places=1, waiting=4)
    queue.put("loud", "running")
    assert taken(queue) == "running"
    assert [queue.put("loud", f"loud {number}") for number in range(4)] == [[]] * 4
    assert queue.put("loud", "loud 4") == ["loud 4"]
    assert queue.put("quiet", "quiet 0") == ["loud 3"]
    assert queue.put("quiet", "quiet 1") == ["loud 2"]
    assert queue.put("quiet", "quiet 2") == ["quiet 2"]  # as many as the other by now
    assert queue.put("third", "third 0") == ["loud 1"]


def test_nobody_is_turned_away_while_a_place_is_free() -> None:
    queue: FairQueue[str] = FairQueue(places=2, waiting=0)
    assert queue.put("one", "a") == []
    assert queue.put("one", "b") == []
    assert queue.put("one", "c") == ["c"]


def test_one_tenant_may_use_every_place_while_nobody_else_asks() -> None:
    queue: FairQueue[str] = FairQueue(places=2, waiting=4)
    for name in "abc":
        queue.put("one", name)
    assert (taken(queue), taken(queue)) == ("a", "b")
    assert queue.running == 2


def test_long_work_makes_room_for_others_and_not_for_more_of_its_own() -> None:
    queue: FairQueue[str] = FairQueue(places=2, waiting=10)
    for name in "abc":
        queue.put("loud", name)
    taken(queue), taken(queue)
    assert not queue.leave_place("loud")  # nobody else waits
    queue.put("quiet", "q")
    assert queue.leave_place("loud")
    assert queue.leave_place("loud")
    assert taken(queue) == "q"
    assert queue._next() is None  # c stays in line: its tenant has as many running as places
    queue.done("loud", 5.0, has_left=True)
    assert taken(queue) == "c"


def test_so_many_may_be_long_at_once_and_no_more() -> None:
    queue: FairQueue[str] = FairQueue(places=1, waiting=10)
    for number in range(LONG_PER_PLACE + 1):
        queue.put(f"tenant {number}", "long")
        taken(queue)
        queue.put("late", "waits")
        assert queue.leave_place(f"tenant {number}") == (number < LONG_PER_PLACE)
        queue.remove("late", "waits")
    queue.put("late", "waits")
    assert queue._next() is None


def test_what_nobody_waits_for_is_not_begun() -> None:
    queue: FairQueue[str] = FairQueue(places=1, waiting=10)
    queue.put("one", "a")
    queue.put("one", "b")
    queue.remove("one", "a")
    queue.remove("one", "unknown")
    assert taken(queue) == "b"
    queue.put("two", "c")
    assert queue.close() == ["c"]
    assert queue.take() is None
