/** Real models and what the reference gives for them; tests that need them run only where they are. */

import { join } from "node:path";

/** A folder with `reference/` and one folder per model; CONTRIBUTING.md says what is in it. */
export const modelFolder = process.env.SEALDEX_TEST_MODELS ?? "../shared/data/models";

export function reference(name: string): string {
  return join(modelFolder, "reference", name);
}
