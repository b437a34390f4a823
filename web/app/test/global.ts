/** One service for all tests in the browser: making the gallery's map takes longer than asking it. */

import type { TestProject } from "vitest/node";
import { HAS_CHROMIUM } from "./browser.ts";
import { startService } from "./served.ts";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!HAS_CHROMIUM) {
    project.provide("address", null);
    return () => Promise.resolve();
  }
  const { address, stop } = await startService();
  project.provide("address", address);
  return stop;
}
