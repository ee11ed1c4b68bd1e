/** The profile of a query in JSON, and as the HTTP header `Server-Timing`. */

import type { QueryProfile } from "../../api/vector-index.js";
import { foreign, ofService } from "./results.js";

export function profileText(profile: QueryProfile): string {
  const inSnakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return JSON.stringify(renamed(profile, inSnakeCase));
}

/** The value of the header, in milliseconds, without stages that took no time. */
export function serverTiming({ totalMs, stagesMs }: QueryProfile): string {
  return Object.entries({ total: totalMs, ...stagesMs })
    .filter(([, ms]) => ms > 0)
    .map(([name, ms]) => `${name};dur=${ms.toFixed(3)}`)
    .join(", ");
}

export function decodeProfile(json: unknown): QueryProfile {
  return ofService(() => {
    const { profile } = json as { readonly profile: Readonly<Record<string, unknown>> };
    const { total_ms, stages_ms } = profile;
    if (typeof total_ms !== "number" || typeof stages_ms !== "object" || stages_ms === null) throw foreign();
    return renamed(profile, (name) =>
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    ) as unknown as QueryProfile;
  });
}

function renamed(profile: object, rename: (name: string) => string): object {
  return Object.fromEntries(Object.entries(profile).map(([name, value]) => [rename(name), value]));
}

/** That of a query that took several requests. */
export function sumOfProfiles([first, ...others]: readonly QueryProfile[]): QueryProfile {
  return others.reduce((sum, { stagesMs, ...counts }) => {
    const { stagesMs: own, ...rest } = sum;
    return { ...added(rest, counts), stagesMs: added(own, stagesMs) };
  }, first);
}

function added<T extends Readonly<Record<string, number>>>(a: T, b: T): T {
  return Object.fromEntries(Object.entries(a).map(([name, value]) => [name, value + b[name]])) as T;
}
