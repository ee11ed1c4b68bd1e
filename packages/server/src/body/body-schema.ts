/**
 * Splits the schema of a body into elements of large arrays, checked while the body arrives, and
 * the rest, checked at the end. So no check takes long, however long the body is.
 */

import type { FastifySchemaValidationError } from "fastify";
import type { Streamed } from "./json-parts.js";
import { Ajv, type SchemaValidateFunction, type ValidateFunction } from "ajv";

/** The parts of JSON Schema that this file uses. */
interface Schema {
  readonly type?: string;
  readonly items?: Schema;
  readonly maxItems?: number;
  /** Present for arrays with one entry per item. */
  readonly "x-limited-by"?: string;
  readonly deprecated?: boolean;
  readonly contentEncoding?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Rules for the elements of an array. */
export interface ArrayRule {
  readonly maxItems: number;
  /** Whether elements may be any finite numbers. */
  readonly takesNumbers: boolean;
  /** Faults of an element; undefined if it is valid. */
  faultsOf(element: unknown): readonly FastifySchemaValidationError[] | undefined;
}

/** The parts of a body that are checked while it arrives, by dotted name. */
export interface BodyStreams {
  readonly rules: ReadonlyMap<string, ArrayRule>;
  readonly streamed: Streamed;
}

export const noStreams: BodyStreams = { rules: new Map(), streamed: { arrays: [], base64: [] } };

/** The validators of one service: the compiler keeps every compiled schema. */
export class BodySchemas {
  // No type conversion: `"5"` is not 5. Our own schemas need no validation.
  readonly #ajv = new Ajv({ strict: false, verbose: true, meta: false, validateSchema: false });

  readonly #itemsMax: number;

  /** `itemsMax`: limit of arrays with one entry per item. */
  constructor(itemsMax: number) {
    this.#itemsMax = itemsMax;
    // Null counts as absent, and errors for unknown properties list the known ones.
    this.#ajv.removeKeyword("additionalProperties");
    this.#ajv.addKeyword({
      keyword: "additionalProperties",
      type: "object",
      schemaType: "boolean",
      compile: (isOpen: boolean, parent) =>
        isOpen ? () => true : closedTo((parent as Schema).properties ?? {}),
    });
    // Ajv would count all characters of a text: 8 MiB take 30 ms.
    this.#ajv.removeKeyword("maxLength");
    this.#ajv.addKeyword({
      keyword: "maxLength",
      type: "string",
      schemaType: "number",
      validate: hasAtMost,
    });
  }

  streams(body: unknown): BodyStreams {
    const properties = propertiesOf((body ?? {}) as Schema);
    const nested = properties.flatMap(([parent, schema]) =>
      propertiesOf(schema).map(([name, inner]) => [`${parent}.${name}`, inner] as const),
    );
    const base64 = nested.filter(([, { contentEncoding }]) => contentEncoding === "base64");
    const rules = this.#arrayRules([...properties, ...nested]);
    return { rules, streamed: { arrays: [...rules.keys()], base64: base64.map(([name]) => name) } };
  }

  #arrayRules(properties: readonly (readonly [string, Schema])[]): Map<string, ArrayRule> {
    return new Map(
      properties.flatMap(([name, schema]) => {
        const arrays = alternatives(schema).filter(({ type }) => type === "array");
        if (arrays.length === 0) return [];
        const validate = this.#compileLate({ anyOf: arrays.map(({ items = {} }) => items) });
        const maxItems = Math.max(
          ...arrays.map((array) => (array["x-limited-by"] ? this.#itemsMax : (array.maxItems ?? 0))),
        );
        // The errors of each alternative say more than that none matches.
        const faultsOf = (element: unknown) =>
          validate(element).error?.filter(({ keyword }) => keyword !== "anyOf");
        const takesNumbers = arrays.some(({ items }) => items !== undefined && isAnyNumber(items));
        return [[name, { maxItems, takesNumbers, faultsOf }] as const];
      }),
    );
  }

  /** Validates the rest of a body after its arrays. */
  compileRest(body: unknown) {
    return this.#compileLate(withoutStreams(body as Schema, 2));
  }

  /** Compiles a schema for the first value: all of them would take most of the time in which a service starts. */
  #compileLate(schema: Schema) {
    let validate: ValidateFunction | undefined;
    return (value: unknown): { error?: FastifySchemaValidationError[] } => {
      validate ??= this.#ajv.compile(schema);
      return validate(value) ? {} : { error: (validate.errors ?? []) as FastifySchemaValidationError[] };
    };
  }
}

function closedTo(properties: Readonly<Record<string, Schema>>): SchemaValidateFunction {
  const known = Object.keys(properties).filter((name) => properties[name].deprecated !== true);
  const validate: SchemaValidateFunction = (data: Readonly<Record<string, unknown>>) => {
    const unknown = Object.keys(data).find((name) => !Object.hasOwn(properties, name) && data[name] !== null);
    if (unknown === undefined) return true;
    validate.errors = [{ keyword: "additionalProperties", params: { unknown, known } }];
    return false;
  };
  return validate;
}

/** Whether a text has at most this many characters, each of one or two UTF-16 code units. */
function hasAtMost(max: number, text: string): boolean {
  if (text.length <= max) return true;
  if (text.length > 2 * max) return false;
  let pairs = 0;
  for (let i = 1; i < text.length; i++) {
    const [high, low] = [text.charCodeAt(i - 1), text.charCodeAt(i)];
    if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) pairs++;
  }
  return text.length - pairs <= max;
}

function isAnyNumber(schema: Schema): boolean {
  return schema.type === "number" && Object.keys(schema).length === 1;
}

function alternatives(schema: Schema): readonly Schema[] {
  return schema.anyOf ?? [schema];
}

function propertiesOf(schema: Schema): readonly (readonly [string, Schema])[] {
  return alternatives(schema).flatMap(({ properties = {} }) => Object.entries(properties));
}

/** Removes the streamed parts from a schema, `levels` below the top. */
function withoutStreams(schema: Schema, levels: number): Schema {
  const { type, contentEncoding, properties } = schema;
  if (type === "array" && levels < 2) return { type };
  if (contentEncoding === "base64") return {};
  if (properties === undefined || levels === 0) return schema;
  const rest = Object.entries(properties).map(([name, property]) => {
    const anyOf = alternatives(property).map((each) => withoutStreams(each, levels - 1));
    return [name, { deprecated: property.deprecated === true, anyOf }] as const;
  });
  return { ...schema, properties: Object.fromEntries(rest) };
}
