/** Numbers and times as people read them. */

const integers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });
const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function formatInteger(value: number): string {
  return integers.format(value);
}

/** "1 item", "2 items". */
export function formatCount(count: number, noun: string): string {
  return `${integers.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export function formatNumber(value: number): string {
  return short.format(value);
}

export function formatBytes(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log10(bytes) / 3));
  return `${short.format(bytes / 1000 ** power)} ${units[power]}`;
}

export function formatMs(ms: number): string {
  return `${ms < 0.001 ? 0 : short.format(ms)} ms`;
}

export function formatShare(share: number): string {
  return `${short.format(100 * share)} %`;
}

/** Milliseconds since 1970. */
export function formatTime(at: number): string {
  return times.format(at);
}

/** Milliseconds since 1970. */
export function formatClock(at: number): string {
  return clock.format(at);
}
