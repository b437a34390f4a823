import { afterEach, describe, expect, test, vi } from "vitest";
import { Missing } from "../src/errors.ts";
import { loadNative, Native } from "../src/native.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("the compiled part", () => {
  test("needs nothing from the page, and offers what is declared", async () => {
    const module = await loadNative();
    expect(WebAssembly.Module.imports(module)).toEqual([]);
    expect(WebAssembly.Module.exports(module).map(({ name }) => name).sort()).toEqual([
      "memory", "sift_describe", "sift_describe_frames", "sift_detect", "sift_frames", "sift_keypoints", "sift_open", "sift_rows",
      "words_index", "words_nearest", "words_open", "words_queries",
    ]);
  });

  test("each use has a memory of its own", async () => {
    const module = await loadNative();
    const [one, two] = [new Native(module), new Native(module)];
    one.bytes(one.run.words_open(1000, 0), 128).fill(7);
    expect(one.size).toBeGreaterThan(two.size);
  });

  test("a browser without SIMD or without WebAssembly is told so", async () => {
    vi.spyOn(WebAssembly, "validate").mockReturnValue(false);
    await expect(loadNative()).rejects.toThrow(/needs WebAssembly with SIMD.*Safari 16\.4 or newer/);
    vi.stubGlobal("WebAssembly", undefined);
    await expect(loadNative()).rejects.toThrow("sfumato needs WebAssembly, this browser has none; update it.");
  });

  test("the file is fetched from where it is said to be; what is wrong with it is told", async () => {
    const asked = vi.fn<(file: string) => Promise<Response>>();
    asked.mockResolvedValue(new Response(new Uint8Array([1, 2, 3])));
    vi.stubGlobal("fetch", asked);
    await expect(loadNative("https://own.example/device.wasm")).rejects.toThrow(/could not be compiled/);
    expect(asked.mock.calls).toEqual([["https://own.example/device.wasm"]]);
    asked.mockResolvedValue(new Response("", { status: 404 }));
    await expect(loadNative("/device.wasm")).rejects.toThrow(/the server answered 404/);
    asked.mockRejectedValue(new TypeError("offline"));
    await expect(loadNative("/device.wasm")).rejects.toThrow(Missing);
  });
});
