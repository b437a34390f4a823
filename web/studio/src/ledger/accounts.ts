/** What was spent, from this browser or from a file that `sfumato ledger show --json` or this page wrote. */

import { DELTA, Ledger, NOT_PROTECTED, sessionNames, type PrivateAnswers } from "@sfumato/device";

/** One charge of one picture. */
export interface Charge {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly mechanism: string;
  /** Per descriptor; null: no guarantee. */
  readonly epsilon: number | null;
  readonly units: number;
  readonly numValues: number | null;
  readonly subsetSize: number;
}

/** One session. */
export interface Account {
  readonly session: string;
  readonly pictures: number;
  readonly units: number;
  /** N·ε of everything. */
  readonly spent: number;
  /** E of everything at δ = 10⁻⁶; null while nobody has counted it. */
  readonly exact: number | null;
  readonly cap: number | null;
  readonly capExact: number | null;
  readonly withoutGuarantee: number;
  /** Oldest first. Fewer than `pictures` where older ones were not kept. */
  readonly charges: readonly Charge[];
}

export class NotLedger extends Error {
  override name = "NotLedger";
}

const LARGEST = 1 << 26;
const UNIT = "ε of a session: the sum over all descriptors or codes that were sent in it";

/** The accounts of this browser, those that were used. */
export async function accountsHere(): Promise<Account[]> {
  const accounts: Account[] = [];
  for (const session of await sessionNames()) {
    const ledger = await Ledger.open({ session });
    try {
      const [state, charges] = [await ledger.spent(), await ledger.history()];
      if (state.pictures === 0) continue;
      accounts.push({
        session, pictures: state.pictures, units: state.units, spent: state.epsilon, exact: null,
        cap: state.caps.session ?? null, capExact: state.caps.exact ?? null, withoutGuarantee: state.unprotected, charges,
      });
    } finally {
      ledger.close();
    }
  }
  return accounts;
}

/** The answers behind an account, as exact composition counts them; null where charges are missing. */
export function answersOf({ charges, pictures }: Pick<Account, "charges" | "pictures">): PrivateAnswers[] | null {
  if (charges.length < pictures) return null;
  return charges.flatMap(answerOf);
}

export function answerOf({ epsilon, numValues, subsetSize, units }: Charge): PrivateAnswers[] {
  return epsilon === null || units === 0 ? [] : [{ epsilon, numValues, subsetSize, count: units }];
}

/** The accounts of a file. */
export async function readLedgerFile(file: Blob): Promise<Account[]> {
  if (file.size > LARGEST) throw new NotLedger("This file is larger than 64 MiB, which no ledger on this page is.");
  let told: unknown;
  try {
    told = JSON.parse(await file.text());
  } catch {
    throw new NotLedger("This file is no JSON, or it is cut; write it with “sfumato ledger show --history --json > ledger.json”.");
  }
  const sessions = fieldsOf(told)["sessions"];
  if (!Array.isArray(sessions) || typeof fieldsOf(told)["unit"] !== "string") {
    throw new NotLedger("This JSON is no ledger; write one with “sfumato ledger show --history --json > ledger.json”.");
  }
  return (sessions as unknown[]).map(accountOf).filter(({ pictures }) => pictures > 0);
}

function accountOf(value: unknown): Account {
  const row = fieldsOf(value);
  const session = row["session"];
  if (typeof session !== "string") throw new NotLedger("A session of this ledger has no name: the file is damaged.");
  const wrong = (what: string): NotLedger => new NotLedger(`The session “${session.slice(0, 60)}” of this ledger has an impossible ${what}: the file is damaged.`);
  const amount = (name: string): number => {
    const found = row[name];
    if (typeof found !== "number" || !(found >= 0 && Number.isFinite(found))) throw wrong(name.replaceAll("_", " "));
    return found;
  };
  const optional = (name: string): number | null => (row[name] === null || row[name] === undefined ? null : amount(name));
  const listed: unknown[] = Array.isArray(row["charges"]) ? row["charges"] : [];
  return {
    session: session.slice(0, 200), pictures: amount("pictures"), units: amount("units"), spent: amount("epsilon_spent"),
    exact: optional("exact_epsilon_spent"), cap: optional("cap"), capExact: optional("cap_exact"), withoutGuarantee: amount("without_guarantee"),
    charges: listed.map((one) => chargeOf(fieldsOf(one), wrong)),
  };
}

function chargeOf(one: Record<string, unknown>, wrong: (what: string) => NotLedger): Charge {
  const { epsilon, mechanism, num_values: numValues, subset_size: subsetSize, time, units } = one;
  const isCount = (count: unknown, low: number): count is number => Number.isSafeInteger(count) && (count as number) >= low;
  const isPlain = epsilon === null || epsilon === undefined;
  if (typeof time !== "number" || !(time >= 0 && time < 1e11)) throw wrong("time");
  if (!isPlain && !(typeof epsilon === "number" && epsilon > 0 && Number.isFinite(epsilon))) throw wrong("ε");
  if (!isCount(units, 0) || !isCount(subsetSize, 1) || !(numValues === null || isCount(numValues, 2))) throw wrong("charge");
  return { time: 1000 * time, mechanism: typeof mechanism === "string" ? mechanism.slice(0, 60) : "unnamed", epsilon: isPlain ? null : epsilon, units, numValues, subsetSize };
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** The same form as `sfumato ledger show --history --json`. */
export function exported(accounts: readonly Account[]): string {
  return JSON.stringify({
    path: "a browser",
    unit: UNIT,
    sessions: accounts.map((one) => ({
      session: one.session, pictures: one.pictures, units: one.units, epsilon_spent: one.spent,
      epsilon_remaining: one.cap === null ? null : Math.max(0, one.cap - one.spent), exact_epsilon_spent: one.exact, delta: DELTA,
      cap: one.cap, cap_exact: one.capExact, without_guarantee: one.withoutGuarantee,
      charges: one.charges.map((charge) => ({
        time: charge.time / 1000, mechanism: charge.mechanism, epsilon: charge.epsilon, units: charge.units,
        num_values: charge.numValues, subset_size: charge.subsetSize,
      })),
    })),
    not_protected: NOT_PROTECTED,
  }, null, 1);
}
