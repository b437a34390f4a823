/* eslint-disable @typescript-eslint/no-non-null-assertion -- what is missing here fails the test */
/**
 * A place of 10⁶ points while it is turned: frames per second, and processor time a frame, which a busy machine does not change.
 * Printed, never asserted. Runs with SFUMATO_MEASURE=1, on Linux.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { HAS_CHROMIUM } from "../../../app/test/browser.ts";
import { processorTime } from "../processor.ts";
import { Site, SOFTWARE_GL } from "../site.ts";

/** A wavy ground of so many points with colours, as a binary PLY. */
function cloud(count: number): Buffer {
  const header = Buffer.from(`ply\nformat binary_little_endian 1.0\nelement vertex ${count}\nproperty float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n`);
  const rows = Buffer.alloc(15 * count);
  for (let i = 0; i < count; i++) {
    const [x, y] = [(i % 1000) / 100, Math.floor(i / 1000) / 100];
    rows.writeFloatLE(x, 15 * i);
    rows.writeFloatLE(y, 15 * i + 4);
    rows.writeFloatLE(Math.sin(x) * Math.cos(y), 15 * i + 8);
    rows.set([25 * x, 25 * y, 128], 15 * i + 12);
  }
  return Buffer.concat([header, rows]);
}

it.runIf(HAS_CHROMIUM && process.env["SFUMATO_MEASURE"] !== undefined)("draws a million points while it is turned", async () => {
  const site = await Site.start();
  const page = await site.visit(await site.browser(...SOFTWARE_GL), "#place?example=none", { viewport: { width: 1280, height: 900 } });
  const folder = mkdtempSync(join(tmpdir(), "sfumato-measure-"));
  const file = join(folder, "ground.ply");
  writeFileSync(file, cloud(1_000_000));
  const [start, before] = [performance.now(), processorTime()];
  await page.setInputFiles("#place-files", file);
  await page.locator('#place-stage[data-drawn="1000000"]').waitFor();
  const [opened, reading] = [performance.now() - start, processorTime() - before];
  const resting = processorTime();
  const told = await page.evaluate(async () => {
    const stage = document.getElementById("place-stage")!;
    const box = stage.getBoundingClientRect();
    const at = (x: number): PointerEventInit => ({ pointerId: 1, clientX: box.x + x, clientY: box.y + 100, buttons: 1, bubbles: true });
    stage.dispatchEvent(new PointerEvent("pointerdown", at(100)));
    const drawn: number[] = [];
    const gaps: number[] = [];
    let last = performance.now();
    for (let i = 0; i < 150; i++) {
      stage.dispatchEvent(new PointerEvent("pointermove", at(100 + 3 * i)));
      await new Promise(requestAnimationFrame);
      await new Promise((done) => { setTimeout(done, 0); });
      const now = performance.now();
      gaps.push(now - last);
      last = now;
      drawn.push(Number(stage.dataset["drawn"]));
    }
    const late = gaps.slice(75).sort((a, b) => a - b);
    return { first: drawn[0], last: drawn.at(-1), median: late[37], slowest: late.at(-1) };
  });
  const frame = (1000 * (processorTime() - resting)) / 150;
  console.log(
    `opened in ${Math.round(opened)} ms (${reading.toFixed(1)} s of processor time); turned: ${frame.toFixed(0)} ms of processor time a frame,`,
    `${Math.round(1000 / (told.median ?? NaN))} frames per second in the second half`, told,
  );
  rmSync(folder, { recursive: true });
  expect(told.last).toBeGreaterThan(0);
  await site.stop();
});
