/** Checks the details of a new API key, over HTTP and on the command line. */

import { invalid, timeMax } from "sealdex/wire";
import type { KeyDetails } from "./key-record.js";

const indexNameBytesMax = 128;

/** `now`: milliseconds since 1970. Throws `invalid_request`. */
export function checkDetails(details: KeyDetails, now: number): KeyDetails {
  const { name, scopes, indexes, expiresAt } = details;
  if (name === "" || /[\p{Cc}\p{Cs}]/u.test(name))
    throw invalid("name: expected a text without control characters");
  if (scopes.length === 0) throw invalid("scopes: expected one or more of read, write, admin");
  if (indexes?.length === 0) throw invalid("indexes: expected one or more names of indexes");
  for (const index of indexes ?? []) {
    const bytes = Buffer.byteLength(index, "utf8");
    if (bytes === 0 || bytes > indexNameBytesMax) {
      throw invalid(`indexes: expected names of 1 to ${indexNameBytesMax} bytes, got ${bytes}`);
    }
  }
  if (expiresAt !== undefined && !(Number.isInteger(expiresAt) && expiresAt > now && expiresAt <= timeMax)) {
    throw invalid("expires_at: expected a time in the future, in milliseconds since 1970");
  }
  return { ...details, scopes: [...new Set(scopes)], ...(indexes && { indexes: [...new Set(indexes)] }) };
}
