import { forEachYielding, yieldIfDue } from "./yield-to-event-loop.js";

/** Strings sorted in one piece, in a few milliseconds. */
const sortedTogether = 4096;

/** Sorts strings, yielding to the event loop between pieces. */
export async function sortYielding(strings: readonly string[]): Promise<string[]> {
  let runs: string[][] = [];
  for (let start = 0; start < strings.length; start += sortedTogether) {
    if (start > 0) await yieldIfDue();
    runs.push(strings.slice(start, start + sortedTogether).sort());
  }
  while (runs.length > 1) {
    const longer: string[][] = [];
    for (let i = 0; i < runs.length; i += 2) longer.push(await merged(runs[i], runs[i + 1] ?? []));
    runs = longer;
  }
  return runs[0] ?? [];
}

async function merged(a: readonly string[], b: readonly string[]): Promise<string[]> {
  const both: string[] = [];
  let [i, j] = [0, 0];
  await forEachYielding(a.length + b.length, () => {
    both.push(j === b.length || (i < a.length && a[i] <= b[j]) ? a[i++] : b[j++]);
  });
  return both;
}
