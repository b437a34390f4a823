/** A ledger on the page is the ledger in the file, charge by charge. */

import { describe, expect, it } from "vitest";
import { exported, readLedgerFile, type Account } from "../../src/ledger/accounts.ts";
import { niceAbove } from "../../src/ledger/chart.ts";
import { answersUpTo, sampled, stepsOf } from "../../src/ledger/spending.ts";

const charge = { time: 1_790_000_000_000, mechanism: "subset", epsilon: 8, units: 100, numValues: 8192, subsetSize: 1 };
const account: Account = {
  session: "town", pictures: 3, units: 307, spent: 2000, exact: null, cap: 5000, capExact: null, withoutGuarantee: 1,
  charges: [charge, { ...charge, time: charge.time + 1000, units: 150 }, { ...charge, time: charge.time + 2000, mechanism: "plain", epsilon: null, units: 57, numValues: null }],
};
const file = (told: unknown): Blob => new Blob([typeof told === "string" ? told : JSON.stringify(told)]);
const told = (): { sessions: Record<string, unknown>[] } => JSON.parse(exported([account])) as { sessions: Record<string, unknown>[] };

/** What `sfumato ledger show --json` printed, word for word but for its path. */
const PYTHON = `{"path": "ledger.db", "unit": "ε of a session: the sum over all descriptors or codes that were sent in it", "sessions": [{"session": "default",
 "pictures": 2, "units": 15, "epsilon_spent": 15.0, "epsilon_remaining": null, "exact_epsilon_spent": 14.2, "delta": 1e-06, "cap": null, "cap_exact": null,
 "without_guarantee": 0}], "not_protected": ["the positions of the keypoints"]}`;

describe("a ledger in a file", () => {
  it("is read as it was saved", async () => {
    expect(await readLedgerFile(file(exported([account])))).toEqual([account]);
  });

  it("of Python without times shows its totals", async () => {
    const [read] = await readLedgerFile(file(PYTHON));
    expect(read).toMatchObject({ session: "default", pictures: 2, spent: 15, exact: 14.2, charges: [] });
  });

  it("without charges is empty", async () => {
    expect(await readLedgerFile(file({ ...told(), sessions: [{ ...told().sessions[0], pictures: 0, charges: [] }] }))).toEqual([]);
  });

  it.each([
    ["cut in the middle", exported([account]).slice(0, 300), /no JSON, or it is cut/],
    ["something else", { maps: [] }, /no ledger/],
    ["a list", [1, 2], /no ledger/],
    ["of a negative sum", { ...told(), sessions: [{ ...told().sessions[0], epsilon_spent: -3 }] }, /session “town” .* impossible epsilon spent/],
    ["of a nameless session", { ...told(), sessions: [{}] }, /has no name/],
    ["with a time before time", { ...told(), sessions: [{ ...told().sessions[0], charges: [{ ...charge, time: -5 }] }] }, /impossible time/],
    ["with half a descriptor", { ...told(), sessions: [{ ...told().sessions[0], charges: [{ time: 5, epsilon: 1, units: 1.5, subset_size: 1, num_values: 2 }] }] }, /impossible charge/],
  ])("that is %s is refused in one sentence", async (_, given, sentence) => {
    await expect(readLedgerFile(file(given))).rejects.toThrow(sentence);
  });
});

describe("the budget over time", () => {
  it("rises by N·ε with each charge, and by nothing without a guarantee", () => {
    expect(stepsOf(account).map(({ spent }) => spent)).toEqual([0, 800, 2000, 2000]);
  });

  it("begins with what was spent before the first known charge", () => {
    expect(stepsOf({ ...account, spent: 2500 }).map(({ spent }) => spent)).toEqual([500, 1300, 2500, 2500]);
  });

  it("counts the answers that have a guarantee, each kind once", () => {
    expect(answersUpTo(account.charges, 2)).toEqual([{ epsilon: 8, numValues: 8192, subsetSize: 1, count: 250 }]);
    expect(sampled(5, 24)).toEqual([0, 1, 2, 3, 4]);
    expect(sampled(1000, 4)).toEqual([0, 333, 666, 999]);
    expect([niceAbove(0.3), niceAbove(4), niceAbove(8001)]).toEqual([0.4, 4, 10_000]);
  });
});
