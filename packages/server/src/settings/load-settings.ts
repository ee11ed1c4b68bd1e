/** Settings of a command: those of a file, overridden by those of the environment. */

import { unknownName } from "sealdex/wire";
import { parseConfigFile } from "./config-file.js";
import { readSettings, type Settings } from "./settings.js";
import { variables } from "./settings-help.js";
import { readTextFile } from "../http/text-file.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Names the file of settings. */
const fileVariable = "SEALDEX_CONFIG";

/** Names the queue of `enqueue` and `work`, which workers may have in the environment of the service. */
export const queueVariable = "SEALDEX_QUEUE";

/** `path`: of the file. Default: `SEALDEX_CONFIG`, or no file. Throws `invalid_request`. */
export function loadSettings(environment: Environment, path?: string): Settings {
  const file = path ?? environment[fileVariable];
  if (!file) return readSettings(environment);
  const names = variables.map(({ name }) => name).filter((name) => name !== fileVariable);
  const inFile = parseConfigFile(readTextFile(file), file, environment, names);
  const inEnvironment = Object.entries(environment).filter(([, value]) => value !== "");
  return readSettings({ ...inFile, ...Object.fromEntries(inEnvironment) });
}

/**
 * A warning for each variable that looks like a setting and is none. Orchestrators add some, so
 * they are no error.
 */
export function unknownVariables(environment: Environment): string[] {
  const known = [...variables.map(({ name }) => name), queueVariable];
  return Object.keys(environment)
    .filter((name) => name.startsWith("SEALDEX_") && !known.includes(name))
    .map((name) => `environment: ${unknownName(name, known)}`);
}
