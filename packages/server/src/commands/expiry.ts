/** When keys expire, as commands are told. */

import { invalid } from "sealdex/wire";

const unitMs = { h: 3_600_000, d: 86_400_000 };

/** Milliseconds since 1970. Throws `invalid_request`. */
export function parseExpiry(text: string, now: number): number {
  const [, count, unit] = /^(\d{1,6})([hd])$/.exec(text) ?? [];
  // `Date.parse` takes 3600 for a year.
  const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : NaN;
  const at = count === undefined ? date : now + Number(count) * unitMs[unit as keyof typeof unitMs];
  if (Number.isNaN(at)) throw invalid("--expires: expected a duration (12h, 90d) or a date (2027-12-31)");
  return at;
}
