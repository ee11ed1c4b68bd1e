// The times of calls that follow one another, in milliseconds.

const warmUp = 300;

/** Runs `ask(i)` for so many seconds, after a warm-up. */
export async function askOneByOne(ask, seconds) {
  for (let i = 0; i < warmUp; i++) await ask(i);
  const times = [];
  const end = performance.now() + seconds * 1000;
  for (let i = 0, now = performance.now(); now < end; i++) {
    await ask(i);
    const after = performance.now();
    times.push(after - now);
    now = after;
  }
  return times.sort((a, b) => a - b);
}

/** `sorted`: ascending. `share`: 0.99 for p99. */
export function percentile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
