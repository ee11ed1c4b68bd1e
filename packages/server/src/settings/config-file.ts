/**
 * A file of settings in YAML (or JSON, which is YAML). Names are those of the variables without
 * `SEALDEX_`, in lower case. `${NAME}` in a value is replaced by that environment variable.
 * Messages never repeat a value.
 */

import { type Document, LineCounter, parseDocument } from "yaml";
import { invalid, unknownName } from "sealdex/wire";

type Environment = Readonly<Record<string, string | undefined>>;

const prefix = "SEALDEX_";
const reference = /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}|\$\$\{/g;

/** Turns `SEALDEX_INDEX_LOCATION` into `index_location`. */
function nameInFile(variable: string): string {
  return variable.slice(prefix.length).toLowerCase();
}

/**
 * Reads the settings of a file as variables. `path` is for messages, `variables` are the known
 * ones. Throws `invalid_request`.
 */
export function parseConfigFile(
  text: string,
  path: string,
  environment: Environment,
  variables: readonly string[],
): Record<string, string> {
  const lineCounter = new LineCounter();
  // Every value is a string, as in the environment: a key of digits is no number, and "off" no
  // boolean.
  const options = { schema: "failsafe", lineCounter, prettyErrors: false } as const;
  const document = parseDocument(text, options);
  const [error] = document.errors;
  if (error !== undefined) {
    // The parser's message may quote the text.
    const { line } = lineCounter.linePos(error.pos[0]);
    throw invalid(`${path}, line ${line}: not valid YAML (${error.code}); does a value need quotes?`);
  }
  const settings = contentsOf(document, path);
  const known = new Map(variables.map((variable) => [nameInFile(variable), variable]));
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => {
      const variable = known.get(name);
      if (variable === undefined) throw invalid(`${path}: ${unknownName(name, [...known.keys()])}`);
      return [variable, textOf(value, `${path}: ${name}`, environment)] as const;
    }),
  );
}

function contentsOf(document: Document.Parsed, path: string): Record<string, unknown> {
  let contents: unknown;
  try {
    contents = document.toJS();
  } catch {
    // The message quotes the text.
    throw invalid(`${path}: not valid YAML: an alias without an anchor, or too many aliases`);
  }
  if (contents === null || contents === "") return {};
  if (typeof contents !== "object" || Array.isArray(contents)) {
    throw invalid(`${path}: expected names and values`);
  }
  return contents as Record<string, unknown>;
}

/** A list becomes a comma-separated value, a mapping a location. `at` is for messages. */
function textOf(value: unknown, at: string, environment: Environment): string {
  if (Array.isArray(value)) return value.map((entry) => scalarText(entry, at, environment)).join(",");
  if (typeof value !== "object" || value === null) return scalarText(value, at, environment);
  const fields = Object.entries(value).map(
    ([field, entry]) => [field, scalarText(entry, `${at}.${field}`, environment)] as const,
  );
  return JSON.stringify(Object.fromEntries(fields));
}

function scalarText(value: unknown, at: string, environment: Environment): string {
  if (value === null) return "";
  if (typeof value !== "string") throw invalid(`${at}: expected a text or a number`);
  return value.replaceAll(reference, (_, name: string | undefined, byDefault: string | undefined) => {
    if (name === undefined) return "${";
    const replacement = environment[name] || byDefault;
    if (replacement === undefined)
      throw invalid(`${at}: expected the environment variable ${name} to be set`);
    return replacement;
  });
}
