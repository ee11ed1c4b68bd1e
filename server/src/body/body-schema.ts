/**
 * Splits the schema of a body in two: what its large arrays may hold, checked element by element as the body arrives,
 * and the rest, checked at the end. Nothing is walked at once that a client can make long.
 */

import type { FastifySchemaValidationError } from "fastify";
import { Ajv, type SchemaValidateFunction } from "ajv";

/** As far as schemas are looked into here. */
interface Schema {
  readonly type?: string;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly deprecated?: boolean;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** What the elements of an array may be. */
export interface ArrayRule {
  readonly maxItems: number;
  /** What is wrong with an element; undefined if nothing is. */
  faultsOf(element: unknown): readonly FastifySchemaValidationError[] | undefined;
}

/** The validators of one service: the compiler keeps every schema that it compiled. */
export class BodySchemas {
  // Types are never converted: `"5"` is not 5. The schemas are our own, and are not checked against one of schemas.
  readonly #ajv = new Ajv({ strict: false, verbose: true, meta: false, validateSchema: false });

  constructor() {
    // As JSON Schema says, but null counts as left out, and what is refused comes with what is known.
    this.#ajv.removeKeyword("additionalProperties");
    this.#ajv.addKeyword({
      keyword: "additionalProperties",
      type: "object",
      schemaType: "boolean",
      compile: (isOpen: boolean, parent) =>
        isOpen ? () => true : closedTo((parent as Schema).properties ?? {}),
    });
  }

  /** The rules of the arrays directly below the top, by name. */
  arrayRules(body: unknown): ReadonlyMap<string, ArrayRule> {
    const { properties = {} } = (body ?? {}) as Schema;
    return new Map(
      Object.entries(properties).flatMap(([name, schema]) => {
        const arrays = alternatives(schema).filter(({ type }) => type === "array");
        if (arrays.length === 0) return [];
        const validate = this.#ajv.compile({ anyOf: arrays.map(({ items = {} }) => items) });
        const maxItems = Math.max(...arrays.map((array) => array.maxItems ?? 0));
        const faultsOf = (element: unknown) => {
          if (validate(element)) return undefined;
          const errors = (validate.errors ?? []) as readonly FastifySchemaValidationError[];
          // That none of the alternatives fits is said by what is wrong with each.
          return errors.filter(({ keyword }) => keyword !== "anyOf");
        };
        return [[name, { maxItems, faultsOf }] as const];
      }),
    );
  }

  /** A validator of the rest of the body, whose arrays have been checked. */
  compileRest(body: unknown) {
    const schema = body as Schema;
    const properties = Object.entries(schema.properties ?? {}).map(
      ([name, property]) =>
        [
          name,
          { deprecated: property.deprecated === true, anyOf: alternatives(property).map(withoutElements) },
        ] as const,
    );
    return this.#ajv.compile({ ...schema, properties: Object.fromEntries(properties) });
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

function alternatives(schema: Schema): readonly Schema[] {
  return schema.anyOf ?? [schema];
}

function withoutElements(schema: Schema): Schema {
  return schema.type === "array" ? { type: "array" } : schema;
}
