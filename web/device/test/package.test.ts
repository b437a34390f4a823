import { readFileSync, readdirSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";
import ts from "typescript";
import { expect, test } from "vitest";

const ROOT = new URL("../", import.meta.url);
const SOURCES = readdirSync(new URL("src/", ROOT), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

test("code and compiled code have at most 300 kB, compressed", () => {
  const sizes = ["index.js", "worker.js", "device.wasm"].map((name) => {
    const bytes = readFileSync(new URL(`dist/${name}`, ROOT)); // missing: npm run build
    return { gzip: gzipSync(bytes).length, brotli: brotliCompressSync(bytes).length };
  });
  const gzip = sizes.reduce((sum, size) => sum + size.gzip, 0);
  expect(gzip).toBeGreaterThan(20_000);
  expect(gzip).toBeLessThanOrEqual(300_000);
});

test("every export is documented", () => {
  const entry = new URL("src/index.ts", ROOT).pathname;
  const options = { strict: true, allowImportingTsExtensions: true, noEmit: true, module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  const program = ts.createProgram([entry], { ...options, moduleResolution: ts.ModuleResolutionKind.Bundler });
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(entry);
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error("src/index.ts exports nothing");
  const names = checker.getExportsOfModule(module).map((symbol) => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return { name: symbol.name, text: ts.displayPartsToString(target.getDocumentationComment(checker)) };
  });
  expect(names.length).toBeGreaterThan(80);
  expect(names.filter(({ text }) => text === "").map(({ name }) => name)).toEqual([]);
});

test.each(SOURCES)("%s draws from no other source than WebCrypto, and writes nothing to the console", (name) => {
  const text = readFileSync(new URL(`src/${name}`, ROOT), "utf8");
  expect(text).not.toMatch(/Math\.random|console\.|Date\.now\(\)\s*%/);
});

test("the example of the README is ten lines or so, and names what is exported", () => {
  const [, example = ""] = /```ts\n([^`]*)```/.exec(readFileSync(new URL("README.md", ROOT), "utf8")) ?? [];
  expect(example.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(13);
  const index = readFileSync(new URL("src/index.ts", ROOT), "utf8");
  for (const name of ["Client", "Device", "Ledger", "Dictionary", "Composition"]) expect(index).toContain(name);
});
