/** The settings of a command: those of a file, and over them those of the environment. */

import { unknownName } from "sealdex/wire";
import { parseConfigFile } from "./config-file.js";
import { readSettings, type Settings } from "./settings.js";
import { variables } from "./settings-help.js";
import { readTextFile } from "../http/text-file.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** Which file has settings. */
const fileVariable = "SEALDEX_CONFIG";

/** `path`: of the file. Default: `SEALDEX_CONFIG`; none. Throws `invalid_request`. */
export function loadSettings(environment: Environment, path?: string): Settings {
  const file = path ?? environment[fileVariable];
  if (!file) return readSettings(environment);
  const names = variables.map(({ name }) => name).filter((name) => name !== fileVariable);
  const inFile = parseConfigFile(readTextFile(file), file, environment, names);
  const inEnvironment = Object.entries(environment).filter(([, value]) => value !== "");
  return readSettings({ ...inFile, ...Object.fromEntries(inEnvironment) });
}

/** What to say of each variable that looks like a setting and is none. Orchestrators add some, so they are not refused. */
export function unknownVariables(environment: Environment): string[] {
  const known = variables.map(({ name }) => name);
  return Object.keys(environment)
    .filter((name) => name.startsWith("SEALDEX_") && !known.includes(name))
    .map((name) => `environment: ${unknownName(name, known)}`);
}
