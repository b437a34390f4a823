/* eslint-disable @typescript-eslint/no-non-null-assertion -- what is missing here fails the test */
/** The chart shows what `sfumato experiment frontier` computes, and what is whole of a file that is not. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readOutcomes, textOf } from "../../src/frontier/outcomes.ts";
import { clusteredWilson, rowsOf, said, wilson } from "../../src/frontier/rows.ts";
import { axisOf, powers } from "../../src/frontier/scale.ts";
import { sentencesOf, verdictOf } from "../../src/frontier/words.ts";

const PUBLIC = join(import.meta.dirname, "../../public/examples/frontier");
const KEPT = join(import.meta.dirname, "../../../../papers/outcomes/frontier");
const GOLDEN = JSON.parse(readFileSync(join(import.meta.dirname, "golden.json"), "utf8")) as Record<string, Record<string, unknown>[]>;

const packed = (name: string): Uint8Array<ArrayBuffer> => Uint8Array.from(readFileSync(join(PUBLIC, `${name}.jsonl.gz`)));
const text = (name: string): string => gunzipSync(packed(name)).toString();

describe.each(["strecha", "room"])("the outcomes of %s", (name) => {
  it("are those that the repository keeps", () => {
    expect(Buffer.from(packed(name)).equals(readFileSync(join(KEPT, name, "outcomes.jsonl.gz")))).toBe(true);
  });

  it("give the rows that Python computes", () => {
    const { rows, unfinished } = rowsOf(readOutcomes(text(name)));
    expect(unfinished).toBe(0);
    const golden = GOLDEN[name]!;
    expect(rows.map((row) => said(row.way))).toEqual(golden.map((row) => row["said"]));
    rows.forEach((row, i) => {
      const wanted = golden[i]!;
      expect([row.family, row.wrong, row.fronts]).toEqual([wanted["family"], wanted["wrong"], wanted["fronts"]]);
      for (const key of ["share", "keypoints", "picture", "object", "ssim"] as const) {
        if (wanted[key] === null) expect(row[key]).toBeNull();
        else expect(row[key]).toBeCloseTo(wanted[key] as number, 9);
      }
      row.interval.forEach((end, side) => { expect(end).toBeCloseTo((wanted["share_interval_95"] as number[])[side]!, 9); });
    });
  });

  it("never show an ε where there is none", () => {
    const { head, ...rest } = readOutcomes(text(name));
    for (const row of rowsOf({ head, ...rest }).rows) {
      const words = sentencesOf(row, head).join(" ");
      if (row.way.kind === "words") expect(words).toMatch(/ε = [\d.]+.*E = .*ε holds per descriptor\. Not protected: the positions/);
      else expect(words).not.toMatch(/ε/);
    }
  });
});

describe("a file that is not whole", () => {
  it("cut in the middle of a line shows what comes before and says so", () => {
    const whole = text("strecha");
    const read = readOutcomes(whole.slice(0, Math.floor(0.53 * whole.length)));
    expect(read.missing).toEqual(["The file is cut in the middle; what comes before the cut is shown."]);
    const { rows, unfinished } = rowsOf(read);
    expect(rows.length).toBeGreaterThan(10);
    expect(unfinished).toBe(1);
  });

  it("cut while it is packed is unpacked as far as it goes", async () => {
    const bytes = packed("strecha");
    const { isCut, text: some } = await textOf(new Blob([bytes.slice(0, 8000)]));
    expect(isCut).toBe(true);
    expect(rowsOf(readOutcomes(some, isCut)).rows.length).toBeGreaterThan(5);
  });

  it("with damaged lines leaves these out and counts them", () => {
    const lines = text("strecha").split("\n");
    lines[5] = "{";
    lines[9] = '{"kind": "outcome"}';
    const { missing } = readOutcomes(lines.join("\n"));
    expect(missing).toEqual(["2 lines are damaged and left out."]);
  });

  it.each([
    ["empty", "", /no outcome file/],
    ["a letter", "Dear Sir,\n", /no outcome file/],
    ["of another version", text("strecha").replace('"format": 1', '"format": 7'), /format 7, this page reads format 1/],
    ["without queries", '{"kind": "frontier", "format": 1, "queries": []}\n', /names no queries/],
  ])("that is %s is refused in one sentence", (_, given, sentence) => {
    expect(() => readOutcomes(given)).toThrow(sentence);
  });

  it("with a head alone has no rows", () => {
    expect(rowsOf(readOutcomes(text("strecha").split("\n")[0] ?? "")).rows).toEqual([]);
  });
});

describe("the chart", () => {
  it("puts what promises nothing behind everything that does", () => {
    const { rows } = rowsOf(readOutcomes(text("strecha")));
    for (const leak of ["picture", "object"] as const) {
      const axis = axisOf(leak, rows);
      for (const row of rows) {
        if (row[leak] === null) expect(axis.place(row)).toBeGreaterThan(axis.behind!);
        else expect(axis.place(row)).toBeLessThanOrEqual(axis.behind!);
      }
    }
    expect(axisOf("ssim", rows).behind).toBeNull();
    expect(powers(2.5, 3.5)).toEqual([500, 1000, 2000]);
  });

  it("begins with the verdict", () => {
    expect(verdictOf(rowsOf(readOutcomes(text("room"))).rows)).toMatch(/^The most private setting that finds at least \d+ % .* costs E = [\d,]+ a picture.*Raw descriptors find \d+ %/);
    expect(verdictOf([])).toMatch(/No way/);
  });

  it("has intervals that grow where answers resemble each other", () => {
    expect(wilson(10, 10)[0]).toBeCloseTo(0.7225, 3);
    expect(clusteredWilson(Array.from({ length: 10 }, () => Array.from({ length: 5 }, () => true)))).toEqual(wilson(10, 10));
  });
});
