import type { FieldText } from "./document-terms.js";
import type { TextField } from "./text-options.js";

export interface ItemTexts {
  /** Undefined without contents, or for an image. */
  readonly contents: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * Texts in the order of `fields`; an array of strings yields each string. Other values yield none.
 */
export function fieldTexts(item: ItemTexts, fields: readonly TextField[]): FieldText[] {
  return fields.flatMap(({ path, weight }) => {
    const value = path === "contents" ? item.contents : valueAt(item.metadata, path.split("."));
    return strings(value).map((text) => ({ text, weight }));
  });
}

function strings(value: unknown): string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((each) => typeof each === "string");
}

function valueAt(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return valueAt((value as Readonly<Record<string, unknown>>)[name], rest);
}
