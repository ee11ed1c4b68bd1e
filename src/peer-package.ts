/** The packages that only some features need: optional peers, loaded when such a feature is first used. */

import { SealdexError } from "./errors.js";

/** What `load` imports. Throws `not_supported`, with the command to run, if the package is not installed. */
export async function loadPackage<T>(name: string, feature: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    throw new SealdexError(
      "not_supported",
      `${feature}: expected the package ${name} to be installed: npm install ${name}`,
      { cause },
    );
  }
}

function isMissing(error: unknown, name: string): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  // As import() and as require() say it. A package that is there and lacks one of its own is another matter.
  return (
    ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"].includes(String(error.code)) &&
    error.message.includes(`'${name}'`)
  );
}
