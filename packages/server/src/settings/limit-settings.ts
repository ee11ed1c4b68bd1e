/** Environment variables of limits. */

import { invalid } from "sealdex/wire";
import { defaultLimits, type Limits, limitTable } from "../http/limits.js";

interface LimitSetting {
  /** Name of the variable. */
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** As in docs/service.md. */
  readonly meaning: string;
  readonly byDefault: string;
}

const bounds = {
  bytes: [1024, 2 ** 40],
  milliseconds: [1, 24 * 60 * 60 * 1000],
  count: [1, 1_000_000_000],
} as const;

/** `bodyBytesMax` is `SEALDEX_BODY_BYTES_MAX`. */
export const limitSettings = Object.fromEntries(
  Object.entries(limitTable).map(([limit, { unit, byDefault, meaning, inWords }]): [string, LimitSetting] => {
    const [min, max] = bounds[unit];
    const setting = {
      name: `SEALDEX_${limit.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
      min,
      max,
      meaning: `${meaning}.`,
      byDefault: inWords ?? (byDefault === Infinity ? "none" : `\`${byDefault}\``),
    };
    return [limit, setting];
  }),
) as Readonly<Record<keyof Limits, LimitSetting>>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the limits that are set. Throws `invalid_request`. An empty variable counts as unset. */
export function readLimitSettings(environment: Environment): Partial<Limits> {
  const set = Object.entries(limitSettings).flatMap(([limit, setting]) => {
    const text = environment[setting.name];
    return text ? [[limit, parse(text, setting)] as const] : [];
  });
  const limits = Object.fromEntries(set) as Partial<Limits>;
  const { resultBytesMax, resultsBytesMax } = { ...defaultLimits, ...limits };
  if (resultsBytesMax < resultBytesMax) {
    const { resultBytesMax: one, resultsBytesMax: all } = limitSettings;
    throw invalid(`${all.name}: expected at least ${one.name}, which is ${resultBytesMax}`);
  }
  return limits;
}

function parse(text: string, { name, min, max }: LimitSetting): number {
  const value = Number(text);
  if (!/^\d{1,15}$/.test(text) || value < min || value > max) {
    throw invalid(`${name}: expected an integer from ${min} to ${max}`);
  }
  return value;
}
