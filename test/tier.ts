/**
 * How much of the tests runs. `npm test` is the fast tier: everything that needs no server, and a share of the slow suites.
 * `npm run test:all` is everything, on every server.
 */

import { inject } from "vitest";
import type { TestServer } from "./servers/test-server.js";

declare module "vitest" {
  interface ProvidedContext {
    readonly tier: "fast" | "all";
    /** Addresses of the servers for tests, by name. */
    readonly servers: Readonly<Record<string, string>>;
  }
}

/** How often a slow suite repeats itself: the number of the environment variable, else that of the tier. */
export function repeats(variable: string, counts: { readonly fast: number; readonly all: number }): number {
  const set = process.env[variable];
  return set === undefined ? counts[inject("tier")] : Number(set);
}

/** Cases of a suite that are much alike: a few of them, or all. */
export function cases<T>(of: { readonly fast: readonly T[]; readonly all: readonly T[] }): readonly T[] {
  return of[inject("tier")];
}

/** Whether a test may start a server of this kind, to break it. The fast tier starts none, even if it is installed. */
export function canStart(server: TestServer): boolean {
  return inject("tier") === "all" && server.isInstalled();
}
