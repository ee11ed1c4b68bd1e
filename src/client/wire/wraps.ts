/** The JSON of wraps, without the address of the index. */

import { invalid } from "../../checks/input.js";
import type { WrapDescription, WrapOptions } from "../../api/vector-index.js";
import type { Maybe } from "./address.js";
import { foreign, ofService } from "./results.js";
import { decodeTime, encodeKey, encodeTime } from "./values.js";
import { isDate } from "../../checks/value-kinds.js";

export interface WrapBody {
  readonly name: string;
  readonly wrap_key: string;
  readonly access: WrapOptions["access"];
  /** ISO 8601. */
  readonly expires_at?: Maybe<string>;
}

export function encodeWrap({ name, key, access, expiresAt }: WrapOptions): WrapBody {
  if (expiresAt !== undefined && !isDate(expiresAt)) {
    throw invalid("expiresAt: expected a date in the future");
  }
  return { name, wrap_key: encodeKey(key), access, expires_at: encodeTime(expiresAt, "expiresAt") };
}

export function decodeWrap({ name, wrap_key, access, expires_at }: WrapBody): WrapOptions {
  return {
    name,
    key: wrap_key,
    access,
    expiresAt: (expires_at ?? undefined) === undefined ? undefined : decodeTime(expires_at, "expires_at"),
  };
}

interface WrapDescriptionBody {
  readonly name: string;
  readonly access: WrapDescription["access"];
  readonly expires_at?: string;
  readonly provider?: string;
}

export function encodeWraps(wraps: readonly WrapDescription[]) {
  return {
    wraps: wraps.map(({ name, access, expiresAt, provider }): WrapDescriptionBody => ({
      name,
      access,
      ...(expiresAt !== undefined && { expires_at: expiresAt.toISOString() }),
      ...(provider !== undefined && { provider }),
    })),
  };
}

export function decodeWraps(json: unknown): WrapDescription[] {
  return ofService(() => {
    const { wraps } = json as { readonly wraps: readonly Partial<WrapDescriptionBody>[] };
    return wraps.map(({ name, access, expires_at, provider }) => {
      if (typeof name !== "string" || access === undefined) throw foreign();
      return {
        name,
        access,
        ...(expires_at !== undefined && { expiresAt: decodeTime(expires_at, "wraps.expires_at") }),
        ...(provider !== undefined && { provider }),
      };
    });
  });
}
