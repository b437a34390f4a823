import { expect, test } from "vitest";

test("the tests run where Node is 20 or newer", () => {
  expect(Number(process.versions.node.split(".")[0])).toBeGreaterThanOrEqual(20);
});
