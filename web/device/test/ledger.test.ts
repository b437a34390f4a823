import { IDBFactory } from "fake-indexeddb";
import { describe, expect, test, vi } from "vitest";
import { inTransaction, openDatabase } from "../src/database.ts";
import { BudgetSpent, InvalidInput, LedgerError } from "../src/errors.ts";
import { Ledger } from "../src/ledger.ts";
import { MOST_HISTORY, sessionNames, withCharge } from "../src/ledger-history.ts";
import { Composition } from "../src/privacy/accounting.ts";
import { subsetEvent } from "../src/privacy/event.ts";

const event = subsetEvent(8, 100, 8192, 1);

test("a charge is there when the ledger is opened again", async () => {
  const factory = new IDBFactory();
  const ledger = await Ledger.open({ factory, caps: { session: 1000 } });
  await ledger.charge(event);
  ledger.close();
  const spent = await (await Ledger.open({ factory })).spent();
  expect(spent).toMatchObject({ pictures: 1, units: 100, epsilon: 800, unprotected: 0, remaining: 200 });
  const alone = new Composition([{ epsilon: 8, numValues: 8192, subsetSize: 1, count: 100 }]);
  expect(spent.composition.epsilon()).toBe(alone.epsilon());
});

test("a spent session refuses in one sentence and counts nothing", async () => {
  const ledger = await Ledger.open({ factory: new IDBFactory(), caps: { session: 1000 } });
  await ledger.charge(event);
  await expect(ledger.charge(event)).rejects.toThrow(
    "the cap per session is ε = 1000, this release would make it 1600 after 800 already spent; 200 is left; " +
      "send less, use a smaller epsilon, or stop here. Nothing was released.",
  );
  expect((await ledger.spent()).epsilon).toBe(800);
});

test.each([
  [{ descriptor: 7.9 }, "descriptor"],
  [{ picture: 799 }, "picture"],
  [{ exact: 5 }, "E = 5"],
])("the cap %j refuses", async (caps, word) => {
  const ledger = await Ledger.open({ factory: new IDBFactory(), caps });
  await expect(ledger.charge(event)).rejects.toThrow(BudgetSpent);
  await expect(ledger.charge(event)).rejects.toThrow(word);
});

test("the exact cap counts all releases of the session together", async () => {
  const one = new Composition([{ epsilon: 8, numValues: 8192, subsetSize: 1, count: 100 }]).epsilon();
  const ledger = await Ledger.open({ factory: new IDBFactory(), caps: { exact: one * 1.3 } });
  await ledger.charge(event);
  await expect(ledger.charge(event)).rejects.toThrow(BudgetSpent);
});

test("two tabs that charge one ledger at once do not both get the last of it", async () => {
  const factory = new IDBFactory();
  const tabs = await Promise.all(
    Array.from({ length: 8 }, () => Ledger.open({ factory, caps: { session: 5 * 800 } })),
  );
  const outcomes = await Promise.allSettled(tabs.map((tab) => tab.charge(event)));
  expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(5);
  for (const tab of tabs) expect(await tab.spent()).toMatchObject({ pictures: 5, epsilon: 4000, remaining: 0 });
});

test("amounts are rounded up, so that many small ones never fall below the truth", async () => {
  const ledger = await Ledger.open({ factory: new IDBFactory() });
  await ledger.charge(subsetEvent(1e-10, 3, 4, 1));
  await ledger.charge(subsetEvent(0.1, 3, 4, 1));
  expect((await ledger.spent()).epsilon).toBe(0.300000003);
});

test("caps can be lowered and not raised", async () => {
  const factory = new IDBFactory();
  await Ledger.open({ factory, caps: { session: 1000, picture: 900 } });
  await expect(Ledger.open({ factory, caps: { session: 1001 } })).rejects.toThrow("lowered but not raised");
  const again = await Ledger.open({ factory, caps: { session: 900 } });
  expect((await again.spent()).caps).toMatchObject({ session: 900, picture: 900 });
});

test("sessions are accounts of their own", async () => {
  const factory = new IDBFactory();
  const [first, second] = [await Ledger.open({ factory }), await Ledger.open({ factory, session: "other" })];
  await first.charge(event);
  expect((await second.spent()).pictures).toBe(0);
});

test("a release without a guarantee is counted as such, and refused where there is a cap", async () => {
  const bare = subsetEvent(Infinity, 5, 8192, 1);
  const open = await Ledger.open({ factory: new IDBFactory() });
  await open.charge(bare);
  expect(await open.spent()).toMatchObject({ unprotected: 1, epsilon: 0, units: 5 });
  const capped = await Ledger.open({ factory: new IDBFactory(), caps: { session: 9 } });
  await expect(capped.charge(bare)).rejects.toThrow(BudgetSpent);
});

describe("where nothing can be kept", () => {
  test("a page without IndexedDB is told so, and nothing is released", async () => {
    await expect(Ledger.open()).rejects.toThrow(LedgerError);
    await expect(Ledger.open()).rejects.toThrow(
      "what leaves cannot be counted: this page can keep nothing: IndexedDB is missing here (a private window, or " +
        "not a browser). Nothing was released. Use a normal window, or say explicitly that nothing is to be counted.",
    );
  });

  test("a browser that refuses to open a database is told apart from a cap", async () => {
    const factory = new IDBFactory();
    factory.open = () => {
      throw new DOMException("no", "SecurityError");
    };
    await expect(Ledger.open({ factory })).rejects.toThrow("(SecurityError)");
  });

  test("a ledger whose data were removed does not count on", async () => {
    const ledger = await Ledger.open({ factory: new IDBFactory() });
    ledger.close();
    await expect(ledger.charge(event)).rejects.toThrow(LedgerError);
  });
});

test("a charge is on the disk before it counts, not in a buffer", async () => {
  const database = await openDatabase({ factory: new IDBFactory() });
  const opened = vi.spyOn(database, "transaction");
  await inTransaction<undefined>(database, "sessions", "readwrite", (_, done) => { done(undefined); });
  expect(opened).toHaveBeenCalledWith("sessions", "readwrite", { durability: "strict" });
});

test.each([
  ["less than it sent", { spent: 1n }],
  ["fewer descriptors than it sent", { units: 99 }],
  ["fewer pictures than without a guarantee", { unprotected: 2 }],
  ["no caps", { caps: [] }],
  ["a cap that is no amount", { caps: [null, null, undefined, null] }],
  ["a negative amount", { answers: [{ epsilon: -8_000_000_000n, numValues: 8192, subsetSize: 1, count: 100 }], spent: -800_000_000_000n }],
  ["nothing at all", { answers: undefined }],
])("a ledger edited to have %s is refused", async (_, change) => {
  const factory = new IDBFactory();
  const ledger = await Ledger.open({ factory });
  await ledger.charge(event);
  const database = await openDatabase({ factory });
  await inTransaction<undefined>(database, "sessions", "readwrite", (objects, done) => {
    const request: IDBRequest<unknown> = objects.get("default");
    request.onsuccess = () => {
      objects.put({ ...(request.result as object), ...change });
      done(undefined);
    };
  });
  await expect(ledger.charge(event)).rejects.toThrow("damaged");
});

test.each([{ session: 0 }, { picture: -1 }, { exact: NaN }, { descriptor: Infinity }])(
  "the caps %j are refused",
  async (caps) => {
    await expect(Ledger.open({ factory: new IDBFactory(), caps })).rejects.toThrow(InvalidInput);
  },
);

describe("the history", () => {
  test("says when what was charged, in every tab", async () => {
    const factory = new IDBFactory();
    const before = Date.now();
    const ledger = await Ledger.open({ factory, session: "town" });
    await ledger.charge(event);
    await ledger.charge(subsetEvent(Infinity, 7, 1024, 1));
    const [first, second] = await (await Ledger.open({ factory, session: "town" })).history();
    expect(first).toMatchObject({ mechanism: "subset", epsilon: 8, units: 100, numValues: 8192, subsetSize: 1 });
    expect(second).toMatchObject({ mechanism: "quantize", epsilon: null, units: 7 });
    expect(first?.time).toBeGreaterThanOrEqual(before);
    await Ledger.open({ factory, session: "another" });
    expect(await sessionNames({ factory })).toEqual(["another", "town"]);
  });

  test("may have gaps and damage without harming the account", async () => {
    const factory = new IDBFactory();
    const ledger = await Ledger.open({ factory });
    await ledger.charge(event);
    const database = await openDatabase({ factory });
    await inTransaction(database, "sessions", "readwrite", (objects, done, guarded) => {
      const request = objects.get("default") as IDBRequest<object>;
      request.onsuccess = guarded(() => {
        objects.put({ ...request.result, history: [{ time: "yesterday" }, null, 3] });
        done(null);
      });
    });
    expect(await ledger.history()).toEqual([]);
    await ledger.charge(event);
    expect(await ledger.spent()).toMatchObject({ pictures: 2, epsilon: 1600 });
    expect(await ledger.history()).toHaveLength(1);
  });

  test("keeps the newest entries and no more", () => {
    let history: ReturnType<typeof withCharge> = [];
    for (let i = 0; i < MOST_HISTORY + 3; i++) history = withCharge(history, event, i);
    expect([history.length, history[0]?.time]).toEqual([MOST_HISTORY, 3]);
  });
});
