/** Storage locations of the settings. */

import type { StorageLocation } from "sealdex/core";
import { invalid, locationForms, parseLocation } from "sealdex/wire";

/** `variable` names the setting in messages. Throws `invalid_request`. */
export function readLocation(text: string, variable: string): StorageLocation {
  const location = parseLocation(text);
  if (location === undefined) throw invalid(`${variable}: expected ${locationForms}`);
  return location;
}
