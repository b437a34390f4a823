/** Processor time, which a busy machine hardly changes; of Linux. */

import { readdirSync, readFileSync } from "node:fs";

/** Seconds of processor time that this process and all below it have used, those that run still. */
export function processorTime(): number {
  const every = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
      return [{ pid: Number(pid), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }];
    } catch {
      return []; // it has ended
    }
  });
  const below = (pid: number): number => every.filter(({ parent }) => parent === pid).reduce((sum, one) => sum + one.ticks + below(one.pid), 0);
  return below(process.pid) / 100;
}
