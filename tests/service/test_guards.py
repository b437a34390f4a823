"""The guards of a store one by one, without HTTP: keys, tenants, transactions, access rights."""

from __future__ import annotations

import errno
import hmac
import math
import os
import shutil
import sqlite3
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from served import MAP_INFO
from sfumato.core.errors import InvalidInput
from sfumato.service import storage
from sfumato.service.errors import ServiceError
from sfumato.service.keys import Key, still_valid
from sfumato.service.rates import Rates
from sfumato.service.storage import Store

OTHER_SECRET = "A" * 43


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def halves(text: str) -> tuple[str, str]:
    """`sfk_<id>_` and the secret, which may have underscores of its own."""
    return text[:21], text[21:]


def test_a_right_key_id_with_a_wrong_secret_is_refused(store: Store) -> None:
    key, text = store.keys.create("ann", "owner")
    _, second = store.keys.create("bob", "owner")
    head, secret = halves(text)
    assert store.keys.find(text) == key
    for wrong in (OTHER_SECRET, halves(second)[1], secret[:-2] + "AA", secret.swapcase()):
        assert wrong != secret
        assert store.keys.find(head + wrong) is None
    assert store.keys.find(f"sfk_{'0' * 16}_{secret}") is None


def test_every_way_to_fail_compares_one_digest_in_constant_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, text = store.keys.create("ann", "owner")
    head, secret = halves(text)
    compared: list[tuple[int, int]] = []
    honest = hmac.compare_digest

    def spy(a: Any, b: Any) -> bool:
        compared.append((len(a), len(b)))
        return honest(a, b)

    monkeypatch.setattr(hmac, "compare_digest", spy)
    store.keys.find(text)
    for wrong in (head + OTHER_SECRET, f"sfk_{'0' * 16}_{secret}", "", "sfk_", text + "A"):
        assert store.keys.find(wrong) is None
    store.keys.revoke(key.id)
    assert store.keys.find(text) is None
    assert compared == [(32, 32)] * 7  # digests of SHA-256, once for every question


def test_tenants_roles_and_ids_that_cannot_be_are_refused(store: Store) -> None:
    for tenant in ("", "../ann", "a b", "x" * 65, "-ann", "ann\n"):
        with pytest.raises(InvalidInput, match="tenant must be"):
            store.keys.create(tenant, "owner")
    for role in ("", "admin", "Owner"):
        with pytest.raises(InvalidInput, match="role must be"):
            store.keys.create("ann", role)
    with pytest.raises(InvalidInput, match="there is no key"):
        store.keys.revoke("0" * 16)
    assert store.keys.all() == []


def test_a_revoked_key_is_unknown_from_then_on(store: Store) -> None:
    key, text = store.keys.create("ann", "query")
    database = store.database.connection()
    assert still_valid(database, key)
    store.keys.revoke(key.id)
    assert store.keys.find(text) is None
    assert not still_valid(database, key)


def test_a_key_that_changed_its_role_is_not_the_one_that_asked(store: Store) -> None:
    key, _ = store.keys.create("ann", "query")
    claimed = Key(key.id, key.tenant, "owner", key.created)
    assert not still_valid(store.database.connection(), claimed)


def add_map(store: Store, key: Key, map_id: str, name: str) -> None:
    with store.draft() as draft:
        (draft / "file").write_bytes(b"x")
        store.commit(draft, key, map_id, name, MAP_INFO)


def test_a_tenant_finds_lists_and_removes_its_own_maps_only(store: Store) -> None:
    ann, _ = store.keys.create("ann", "owner")
    bob, _ = store.keys.create("bob", "owner")
    add_map(store, ann, "a" * 22, "hall")
    add_map(store, bob, "b" * 22, "hall")  # a name is taken per tenant
    assert [found.id for found in store.of_tenant("ann")] == ["a" * 22]
    assert store.find("ann", "a" * 22).name == "hall"
    for ask in (store.find, store.remove):
        with pytest.raises(ServiceError) as error:
            ask("ann", "b" * 22)
        assert error.value.status == 404
    assert store.ids() == {"a" * 22, "b" * 22}
    assert (store.folder_of("b" * 22) / "file").exists()
    store.remove("bob", "b" * 22)
    assert store.ids() == {"a" * 22}
    assert not store.folder_of("b" * 22).exists()


def test_an_upload_whose_key_was_revoked_meanwhile_leaves_nothing(store: Store) -> None:
    key, _ = store.keys.create("ann", "owner")
    store.keys.revoke(key.id)
    with pytest.raises(ServiceError) as error:
        add_map(store, key, "a" * 22, "hall")
    assert error.value.status == 401
    assert store.ids() == set()
    assert not store.folder_of("a" * 22).exists()
    assert not list(store.incoming.iterdir())


def nothing_was_added(store: Store, before: set[str]) -> bool:
    return (
        store.ids() == before
        and {path.name for path in store.maps.iterdir()} == before
        and not list(store.incoming.iterdir())
        and not store.leaving()
    )


def test_a_name_that_was_taken_meanwhile_is_refused_and_leaves_nothing(store: Store) -> None:
    key, _ = store.keys.create("ann", "owner")
    add_map(store, key, "a" * 22, "hall")
    with pytest.raises(ServiceError) as error:
        add_map(store, key, "b" * 22, "hall")
    assert (error.value.status, error.value.code) == (409, "name-taken")
    assert nothing_was_added(store, {"a" * 22})


@pytest.mark.parametrize("step", ["write_arriving", "sync_tree", "insert", "acknowledge"])
def test_an_upload_that_fails_at_any_step_is_an_error_and_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: Any) -> None:
        if step == "insert":
            raise sqlite3.OperationalError("database or disk is full")
        raise OSError(errno.ENOSPC, "No space left on device")

    key, _ = store.keys.create("ann", "owner")
    monkeypatch.setattr(storage, step, full)
    with pytest.raises(ServiceError) as error:
        add_map(store, key, "a" * 22, "hall")
    assert error.value.status == 507
    assert nothing_was_added(store, set())


def test_so_much_room_is_kept_free_and_so_many_maps_are_allowed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = SimpleNamespace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
    store.check_room(600, 400)
    with pytest.raises(ServiceError) as error:
        store.check_room(601, 400)
    assert error.value.status == 507
    assert store.why_not_writable(999) is None
    assert "1000 are free" in (store.why_not_writable(1000) or "")
    key, _ = store.keys.create("ann", "owner")
    add_map(store, key, "a" * 22, "hall")
    store.check_name_is_free("ann", "stairs", 2)
    store.check_name_is_free("bob", "hall", 1)  # others' maps do not count
    for name, most, code in (("hall", 2, "name-taken"), ("stairs", 1, "too-many-maps")):
        with pytest.raises(ServiceError) as error:
            store.check_name_is_free("ann", name, most)
        assert (error.value.status, error.value.code) == (409, code)


def test_a_transaction_that_fails_is_rolled_back_and_the_next_one_works(store: Store) -> None:
    insert = "INSERT INTO maps VALUES ('ann', ?, 'hall', '{}')"
    with pytest.raises(sqlite3.IntegrityError), store.database.write() as database:
        database.executemany(insert, [("x",), ("x",)])  # the second is refused
    assert store.ids() == set()
    with store.database.write() as database:
        database.execute(insert, ("x",))
    assert store.ids() == {"x"}


def test_a_committed_row_is_on_the_disk(store: Store) -> None:
    database = store.database.connection()
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_a_store_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Store(tmp_path / "store")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700


def test_the_burst_is_granted_and_nothing_beyond_it(tmp_path: Path) -> None:
    clock = [100.0]
    rates = Rates(tmp_path / "rates.db", per_minute=60, burst=3, clock=lambda: clock[0])
    for _ in range(3):
        rates.spend("key")
    with pytest.raises(ServiceError) as error:
        rates.spend("key")
    assert error.value.status == 429
    rates.spend("other")  # each key has a bucket of its own
    clock[0] += 1.0
    rates.spend("key")
    with pytest.raises(ServiceError):
        rates.spend("key")
    clock[0] += 3600.0
    for _ in range(3):  # a long rest does not save up more than the burst
        rates.spend("key")
    with pytest.raises(ServiceError):
        rates.spend("key")
    rates.close()


@pytest.mark.parametrize(("per_minute", "seconds"), [(30, 2.0), (240, 0.25)])
def test_tokens_come_back_at_the_rate_of_the_setting(
    tmp_path: Path, per_minute: float, seconds: float
) -> None:
    clock = [100.0]
    rates = Rates(tmp_path / "rates.db", per_minute=per_minute, burst=1, clock=lambda: clock[0])
    rates.spend("key")
    with pytest.raises(ServiceError) as error:
        rates.spend("key")
    assert error.value.headers["Retry-After"] == str(math.ceil(seconds))
    clock[0] += seconds * 0.75
    with pytest.raises(ServiceError):
        rates.spend("key")
    clock[0] -= 50.0  # a clock that goes back takes nothing away
    with pytest.raises(ServiceError):
        rates.spend("key")
    clock[0] += seconds * 0.25
    rates.spend("key")
    rates.close()
