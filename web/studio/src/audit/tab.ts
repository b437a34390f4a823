/** Is the promise kept? Draws millions of answers with the sampler of releases, or with a broken one. */

import { errorOf } from "@sfumato/device";
import { make, thousands } from "../../../app/src/dom.ts";
import { button, select } from "../parts.ts";
import { Settings } from "../settings.ts";
import type { Mounted, Shell, Work } from "../shell.ts";
import { figure, type Claim, type Look } from "./audit.ts";
import { drawChart } from "./chart.ts";
import { KINDS } from "./samplers.ts";
import type { FromAudit, ToAudit } from "./worker.ts";

const DRAWS = ["200000", "1000000", "4000000"] as const;
const BEFORE = "Not measured yet. A promise is only worth what can be checked: press the button and this page tries to break it.";
const EXPLAINED =
  "Whoever sees the word that is sent must hardly be able to tell the true one. Two keypoints, whose true words are 0 and 1, are protected again and again, by the same code that draws releases. One event tells them apart best: the answer has word 0 and not word 1. " +
  "It may be e^ε times as likely for the one as for the other, and no more. The band is where the measured ε surely lies (Clopper–Pearson); it tightens with every draw, and the claim must stay inside.";
const LIMITS =
  "Consistent is evidence, not proof: the proof is on paper, and tests enumerate the sampler exactly. ε is for one keypoint. Each look at each check calls a correct sampler broken at most once in a million times; " +
  "looks come with every doubling. The whole audit: sfumato audit.";

class AuditTab {
  readonly #shell: Shell;
  readonly #kind = select("kind", "Which sampler", KINDS.map(({ name, title }) => [name, title] as const));
  readonly #epsilon = select("claim", "ε claimed, per keypoint", ["0.5", "1", "2", "4"].map((value) => [value, value] as const));
  readonly #words = select("num-words", "Words |K|", ["4", "8", "64"].map((value) => [value, value] as const));
  readonly #size = select("subset-size", "Words sent, ω", ["1", "2", "3"].map((value) => [value, value] as const));
  readonly #draws = select("draws", "Draws per input", DRAWS.map((value) => [value, thousands(Number(value))] as const));
  readonly #verdict = make("p", { class: "verdict", id: "verdict", role: "status" }, BEFORE);
  readonly #why = make("p", { id: "why" });
  readonly #chart = make("div", { id: "chart" });
  readonly #checks = make("tbody");
  readonly #start = button("Start the audit", "main", () => void this.#run());
  #looks: Look[] = [];
  #drawn: (() => void) | null = null;

  constructor(container: HTMLElement, shell: Shell) {
    this.#shell = shell;
    this.#start.id = "audit-button";
    for (const { input } of [this.#kind, this.#epsilon, this.#words, this.#size, this.#draws]) input.addEventListener("input", () => { this.#changed(); });
    const table = make("table", { id: "checks" }, make("thead", {}, make("tr", {}, ...["", "check", "what was seen"].map((head) => make("th", { scope: "col" }, head)))), this.#checks);
    container.append(
      make("section", { class: "card answer", "aria-label": "Verdict" }, this.#verdict, this.#why),
      make(
        "section",
        { class: "card", "aria-labelledby": "audit-title" },
        make("h2", { id: "audit-title" }, "Try to break the promise"),
        make("p", {}, EXPLAINED),
        make("div", { class: "fields fields-wide" }, this.#kind.field, this.#epsilon.field, this.#words.field, this.#size.field, this.#draws.field),
        make("div", { class: "buttons" }, this.#start),
        this.#chart,
        table,
        make("p", { class: "small" }, LIMITS),
      ),
    );
    const resized = new ResizeObserver(() => { this.#drawn?.(); });
    resized.observe(this.#chart);
    shell.left.addEventListener("abort", () => { resized.disconnect(); });
  }

  update(address: URLSearchParams): void {
    const settings = new Settings(address);
    const [first, ...others] = KINDS.map(({ name }) => name);
    this.#kind.input.value = settings.choice("kind", first ?? "", ...others);
    this.#epsilon.input.value = settings.choice("epsilon", "1", "0.5", "2", "4");
    this.#words.input.value = settings.choice("words", "8", "4", "64");
    this.#size.input.value = settings.choice("size", "2", "1", "3");
    this.#draws.input.value = settings.choice("draws", "1000000", "200000", "4000000");
    this.#shell.say(settings.complaint);
    this.#forget();
  }

  get #claim(): Claim {
    return { kind: this.#kind.input.value, epsilon: Number(this.#epsilon.input.value), numWords: Number(this.#words.input.value), subsetSize: Number(this.#size.input.value) };
  }

  #changed(): void {
    const { epsilon, kind, numWords, subsetSize } = this.#claim;
    this.#shell.setSettings({ kind, epsilon, words: numWords, size: subsetSize, draws: this.#draws.input.value });
    this.#forget();
  }

  #forget(): void {
    this.#looks = [];
    this.#verdict.textContent = BEFORE;
    this.#why.textContent = "";
    this.#checks.replaceChildren();
    this.#chart.replaceChildren();
    this.#drawn = null;
  }

  async #run(): Promise<void> {
    this.#forget();
    const claim = this.#claim;
    const draws = Number(this.#draws.input.value);
    this.#verdict.textContent = "Drawing…";
    const done = await this.#shell.run("Drawing answers", (work) => audit({ claim, draws }, work, (look) => {
      this.#looks.push(look);
      this.#show(claim, draws);
    }));
    if (done === undefined && !this.#shell.left.aborted && this.#looks.length === 0) this.#forget();
  }

  #show(claim: Claim, draws: number): void {
    const look = this.#looks.at(-1);
    if (look === undefined) return;
    const kind = KINDS.find(({ name }) => name === claim.kind) ?? KINDS[0];
    const measured = `after ${thousands(look.draws)} draws per input: ε = ${figure(claim.epsilon)} claimed per keypoint, between ${figure(look.low)} and ${figure(look.high)} measured`;
    this.#verdict.textContent = look.isBroken ? `Broken: the claim is caught, ${measured}.` : `Consistent, ${measured}.`;
    this.#verdict.dataset["broken"] = String(look.isBroken);
    this.#verdict.dataset["done"] = String(look.draws >= draws);
    this.#why.textContent = look.isBroken ? kind.broken : kind.broken === "" ? "" : `Not caught yet: ${kind.broken} More draws will tell.`;
    this.#checks.replaceChildren(
      ...look.checks.map(({ detail, name, passed }) => make("tr", {}, make("td", { "data-name": "", class: passed ? "is-fine" : "is-broken" }, passed ? "ok" : "fails"), make("td", { "data-name": "check" }, name), make("td", { "data-name": "what was seen" }, detail))),
    );
    this.#drawn = () => { this.#chart.replaceChildren(drawChart(this.#looks, claim.epsilon, draws, this.#chart.clientWidth)); };
    this.#drawn();
  }
}

/** Run one audit in a worker of its own; ended with the work. */
function audit(ask: ToAudit, work: Work, tell: (look: Look) => void): Promise<true> {
  return new Promise((done, failed) => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "audit" });
    const end = (): void => { worker.terminate(); };
    work.signal.addEventListener("abort", () => {
      end();
      failed(new DOMException("stopped", "AbortError"));
    });
    worker.onerror = (event) => {
      event.preventDefault();
      end();
      failed(new Error("the browser stopped the audit; start it again."));
    };
    worker.onmessage = ({ data }: MessageEvent<FromAudit>) => {
      if ("draws" in data) work.progress(data.draws / ask.draws);
      else if ("error" in data) {
        end();
        failed(errorOf(data.error));
      } else {
        tell(data.look);
        if (data.done) {
          end();
          done(true);
        }
      }
    };
    worker.postMessage(ask);
  });
}

export function mount(container: HTMLElement, settings: URLSearchParams, shell: Shell): Promise<Mounted> {
  const tab = new AuditTab(container, shell);
  tab.update(settings);
  return Promise.resolve(tab);
}
