/** Numbers and times as people read them. */

const integers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const times = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function formatInteger(value: number): string {
  return integers.format(value);
}

export function formatNumber(value: number): string {
  return short.format(value);
}

export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return `${short.format(bytes / 1024 ** power)} ${units[power]}`;
}

export function formatMs(ms: number): string {
  return `${short.format(ms)} ms`;
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
