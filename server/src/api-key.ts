/** API keys: who may use the service. They open no index; that takes the index's key. */

import { createHash, timingSafeEqual } from "node:crypto";

/**
 * Whether a given header value is one of the keys, in time that does not depend on where they differ. Keeps digests,
 * not keys.
 */
export function apiKeyCheck(apiKeys: readonly string[]): (given: unknown) => boolean {
  const digests = apiKeys.map(digest);
  return (given) => {
    if (typeof given !== "string") return false;
    const presented = digest(given);
    return digests.filter((known) => timingSafeEqual(known, presented)).length > 0;
  };
}

function digest(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}
