/** What was spent, when, and on what; in this browser, or in an exported ledger. */

import "./ledger.css";
import { make, showFacts, short, thousands } from "../../../app/src/dom.ts";
import { NOT_PROTECTED } from "../../../app/src/sentences.ts";
import { button, saveFile, select } from "../parts.ts";
import type { Mount, Shell } from "../shell.ts";
import { accountsHere, exported, readLedgerFile, type Account, type Charge } from "./accounts.ts";
import { dateOf, drawBudget } from "./chart.ts";
import { Counter } from "./counter.ts";
import { answersUpTo, costOf, sampled, stepsOf, type Step } from "./spending.ts";

const EMPTY =
  "Nothing was spent in this browser yet. When you make a release in Protect it is counted here before you get it: when, with which ε per descriptor, on how many keypoints, and what that adds up to. It is privacy that is spent, never money; a rehearsal that never leaves costs nothing.";
const SAFE =
  "A browser is not a safe: whoever clears the data of this site clears the ledger with it. A session's cap can be lowered, never raised.";
const COUNTED_STEPS = 24;
const PAGE = 25;

class LedgerTab {
  readonly #shell: Shell;
  readonly #counter: Counter;
  readonly #verdict = make("p", { class: "verdict", id: "ledger-verdict", role: "status" });
  readonly #source = make("p", { class: "small", id: "ledger-source" });
  readonly #facts = make("dl", { class: "facts ledger-facts" });
  readonly #notes = make("div", { class: "small", id: "ledger-notes" });
  readonly #session = select("ledger-session", "Session", []);
  readonly #unit = select("ledger-unit", "Counted as", [["spent", "N·ε, the largest loss"], ["exact", "E at δ = 10⁻⁶, exact"]]);
  readonly #chart = make("div", { class: "ledger-holder" });
  readonly #table = make("div", { class: "ledger-table" });
  readonly #more: HTMLButtonElement;
  readonly #details: HTMLElement;
  readonly #here: HTMLButtonElement;
  readonly #export: HTMLButtonElement;
  #accounts: readonly Account[] = [];
  #isHere = true;
  #shownRows = PAGE;
  #round = 0;

  constructor(container: HTMLElement, shell: Shell) {
    this.#shell = shell;
    this.#counter = new Counter(shell.left);
    const file = make("input", { class: "quiet", id: "ledger-file", type: "file", accept: ".json" });
    file.addEventListener("change", () => {
      const [chosen] = file.files ?? [];
      file.value = "";
      if (chosen !== undefined) void this.open(chosen);
    });
    this.#here = button("Back to this browser", "plain", () => void this.here());
    this.#export = button("Save as a file", "plain", () => { saveFile("ledger.json", exported(this.#accounts), "application/json"); });
    this.#export.id = "ledger-export";
    this.#more = button("Show more", "plain", () => {
      this.#shownRows += 4 * PAGE;
      void this.#showCharges(this.#account());
    });
    for (const { input } of [this.#session, this.#unit]) input.addEventListener("change", () => { this.#show(); });
    this.#details = make("section", { class: "card", "aria-labelledby": "ledger-time" },
      make("h2", { id: "ledger-time" }, "The budget over time"),
      make("div", { class: "fields" }, this.#session.field, this.#unit.field),
      this.#chart,
      make("h2", { class: "ledger-each" }, "Picture by picture"), make("p", { class: "small" }, "One line per picture, newest first. What a picture showed is not kept, nor its name."), this.#table, this.#more);
    container.append(
      make("section", { class: "card answer", "aria-labelledby": "ledger-title" },
        make("h2", { id: "ledger-title" }, "What was spent?"), this.#verdict, this.#facts, this.#notes, this.#source,
        make("div", { class: "buttons" }, this.#export, make("label", { class: "button plain", for: "ledger-file" }, "Open an exported ledger"), file, this.#here)),
      this.#details,
      make("p", { class: "small" }, "Python keeps a ledger of its own: ", make("code", {}, "sfumato ledger show --history --json > ledger.json"), " writes what can be opened here."),
    );
    shell.onDrop(this.#details, ({ files: [dropped] }) => { if (dropped !== undefined) void this.open(dropped); });
    const resized = new ResizeObserver(() => { void this.#showChart(this.#account()); });
    resized.observe(this.#chart);
    shell.left.addEventListener("abort", () => { resized.disconnect(); });
  }

  /** What this browser has spent. */
  async here(): Promise<void> {
    let accounts: Account[] = [];
    try {
      accounts = await accountsHere();
    } catch (error) {
      this.#shell.fail(error);
    }
    this.#take(accounts, true);
  }

  async open(file: Blob): Promise<void> {
    const accounts = await this.#shell.run("Reading the ledger", () => readLedgerFile(file));
    if (accounts !== undefined) this.#take(accounts, false);
  }

  #take(accounts: readonly Account[], isHere: boolean): void {
    [this.#accounts, this.#isHere, this.#shownRows] = [accounts, isHere, PAGE];
    this.#session.input.replaceChildren(...accounts.map(({ session }) => make("option", { value: session }, session)));
    this.#session.field.hidden = accounts.length < 2;
    this.#source.textContent = isHere ? SAFE : "Shown is a file, not this browser; nothing of it was kept.";
    this.#here.hidden = isHere;
    this.#export.disabled = accounts.length === 0;
    this.#show();
  }

  #account(): Account | null {
    return this.#accounts.find(({ session }) => session === this.#session.input.value) ?? this.#accounts[0] ?? null;
  }

  #show(): void {
    const account = this.#account();
    this.#round++;
    this.#details.hidden = account === null;
    if (account === null) {
      this.#verdict.textContent = this.#isHere ? EMPTY : "This ledger is empty: nothing was charged in it.";
      showFacts(this.#facts, []);
      this.#notes.replaceChildren();
      return;
    }
    const { charges, pictures, session, spent, units, withoutGuarantee } = account;
    this.#verdict.textContent = `${this.#isHere ? "In this browser" : `In session “${session}”`} ${thousands(pictures)} ${pictures === 1 ? "picture" : "pictures"} spent N·ε = ${short(spent)}: the ε of all ${thousands(units)} descriptors that were sent, added up.`;
    const notes: string[] = [];
    if (withoutGuarantee > 0) notes.push(`${thousands(withoutGuarantee)} of the pictures left without any guarantee; no ε counts them.`);
    if (charges.length < pictures) {
      notes.push(charges.length === 0
        ? "When each picture was charged is not in this ledger; “--history” writes it."
        : `The newest ${thousands(charges.length)} of ${thousands(pictures)} charges are known with their time; the earlier ones stand at the beginning of the curve.`);
    }
    notes.push(NOT_PROTECTED);
    this.#notes.replaceChildren(...notes.map((text) => make("p", {}, text)));
    void this.#showFacts(account);
    const hasTimes = charges.length > 0;
    this.#details.hidden = !hasTimes;
    if (!hasTimes) return;
    const canCount = charges.length === pictures;
    this.#unit.input.disabled = !canCount;
    if (!canCount) this.#unit.input.value = "spent";
    void this.#showChart(account);
    void this.#showCharges(account);
  }

  async #showFacts(account: Account): Promise<void> {
    const round = this.#round;
    const { cap, charges, pictures, spent } = account;
    const facts = (exact: string, guess: string): (readonly [string, string])[] => [
      ["N·ε spent, the largest loss that can happen", short(spent)],
      ["E of everything together, except with probability 10⁻⁶", exact],
      ["advantage of who guesses between two whole contents: 0 is chance, 1 is certain", guess],
      ["N·ε left", cap === null ? "no cap" : `${thousands(Math.max(0, cap - spent))} of ${thousands(cap)}`],
    ];
    const known = account.exact === null ? "…" : short(account.exact);
    showFacts(this.#facts, facts(known, "…"));
    if (charges.length < pictures) {
      showFacts(this.#facts, facts(account.exact === null ? "not known" : known, "not known"));
      return;
    }
    const { advantage, exact } = await this.#counter.count(answersUpTo(charges, charges.length - 1));
    if (round !== this.#round) return;
    this.#accounts = this.#accounts.map((one) => (one.session === account.session ? { ...one, exact } : one));
    showFacts(this.#facts, facts(short(exact), advantage.toFixed(3)));
  }

  async #showChart(account: Account | null): Promise<void> {
    const width = Math.round(this.#chart.clientWidth);
    if (account === null || account.charges.length === 0 || width < 40) return;
    const round = this.#round;
    const range = [account.charges[0]?.time ?? 0, account.charges.at(-1)?.time ?? 0] as const;
    if (this.#unit.input.value === "spent") {
      this.#chart.replaceChildren(drawBudget({ steps: stepsOf(account), cap: account.cap, unit: "N·ε", range }, width));
      return;
    }
    const steps: Step[] = [];
    for (const index of sampled(account.charges.length, COUNTED_STEPS)) {
      const { exact } = await this.#counter.count(answersUpTo(account.charges, index));
      if (round !== this.#round || this.#unit.input.value === "spent") return;
      steps.push({ time: account.charges[index]?.time ?? 0, spent: exact });
      this.#chart.replaceChildren(drawBudget({ steps, cap: account.capExact, unit: "E at δ = 10⁻⁶", range }, width));
    }
  }

  async #showCharges(account: Account | null): Promise<void> {
    if (account === null) return;
    const newest = [...account.charges].reverse();
    const names = ["when", "mechanism", "descriptors", "ε per descriptor", "N·ε", "E of the picture, δ = 10⁻⁶", "advantage, object of ten"];
    const body = make("tbody", {});
    const fill = (row: HTMLElement, texts: readonly string[]): void => {
      row.replaceChildren(...texts.map((text, i) => make("td", { "data-name": names[i] ?? "" }, text)));
    };
    this.#table.replaceChildren(make("table", { "aria-label": "Picture by picture" },
      make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)))), body));
    this.#more.hidden = newest.length <= this.#shownRows;
    const round = this.#round;
    const rows = newest.slice(0, this.#shownRows).map((charge) => {
      const row = make("tr", {});
      body.append(row);
      fill(row, textsOf(charge, "…", "…"));
      return { charge, row };
    });
    for (const { charge, row } of rows) {
      const answers = answersUpTo([charge], 0);
      if (answers.length === 0) {
        fill(row, textsOf(charge, "no guarantee", "no guarantee"));
        continue;
      }
      const { exact, object } = await this.#counter.count(answers);
      if (round !== this.#round) return;
      fill(row, textsOf(charge, short(exact), object.toFixed(3)));
    }
  }
}

function textsOf(charge: Charge, exact: string, object: string): readonly string[] {
  const isPrivate = charge.epsilon !== null;
  const words = charge.numValues === null ? "" : `, ${charge.subsetSize} of ${thousands(charge.numValues)}`;
  return [
    dateOf(charge.time), `${charge.mechanism}${words}`, thousands(charge.units),
    charge.epsilon === null ? "none" : short(charge.epsilon), isPrivate ? short(costOf(charge)) : "no guarantee", exact, object,
  ];
}

export const mount: Mount = async (container, _settings, shell) => {
  const tab = new LedgerTab(container, shell);
  await tab.here();
  return { update: () => undefined };
};
