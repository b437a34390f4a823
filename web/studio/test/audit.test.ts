/** The audit in the page: its intervals are exact, it believes the shipped sampler, and it catches every broken one. */

import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { Audit } from "../src/audit/audit.ts";
import { clopperPearson, ratioInterval } from "../src/audit/interval.ts";
import { KINDS } from "../src/audit/samplers.ts";
import { PYTHON } from "./golden.ts";

const CASES: readonly (readonly [number, number, number])[] = [
  [0, 1000, 1e-6], [1, 1000, 1e-6], [500, 1000, 1e-6], [1000, 1000, 1e-6], [123_456, 1_000_000, 1e-6], [7, 4_000_000, 5e-7], [3_999_990, 4_000_000, 0.05],
];

it("measures with the intervals that scipy has", () => {
  const code = `import json,sys
from sfumato.privacy.audit import clopper_pearson, ratio_interval
print(json.dumps([clopper_pearson(*case) for case in json.loads(sys.argv[1])] + [ratio_interval(300, 100, 10000, 1e-6)]))`;
  const theirs = JSON.parse(execFileSync(PYTHON, ["-c", code, JSON.stringify(CASES)], { encoding: "utf8" })) as [number, number][];
  const ours = [...CASES.map((one) => clopperPearson(...one)), ratioInterval(300, 100, 10_000, 1e-6)];
  ours.forEach(([low, high], i) => {
    const [wantedLow = NaN, wantedHigh = NaN] = theirs[i] ?? [];
    expect(Math.abs(low - wantedLow)).toBeLessThan(1e-8 * Math.max(1e-4, Math.abs(wantedLow)));
    expect(Math.abs(high - wantedHigh)).toBeLessThan(1e-8 * Math.max(1e-4, Math.abs(wantedHigh)));
  });
});

describe("two words of eight at ε = 1", () => {
  it.each(KINDS.map(({ broken, name }) => [name, broken !== ""] as const))("%s: broken is %s", (kind, isBroken) => {
    const audit = new Audit({ kind, epsilon: 1, numWords: 8, subsetSize: 2 });
    for (let step = 0; step < 60 && !(isBroken && step % 10 === 9 && audit.look().isBroken); step++) audit.step(10_000);
    const look = audit.look();
    expect(look.isBroken, JSON.stringify(look.checks)).toBe(isBroken);
    if (!isBroken) expect(look.high - look.low).toBeLessThan(0.1);
  });
});

it("is surer with every draw", () => {
  const audit = new Audit({ kind: "shipped", epsilon: 2, numWords: 4, subsetSize: 1 });
  const widths = [1, 2, 3].map(() => {
    audit.step(20_000);
    const { high, low } = audit.look();
    return high - low;
  });
  expect(widths[2]).toBeLessThan(widths[0] ?? 0);
});
