/** What the validator of shapes found, as a SealdexError: the location in the body, what was expected, what was received. */

import type { FastifySchemaValidationError } from "fastify";
import { SealdexError } from "sealdex/core";
import { unknownName } from "sealdex/wire";

/** `errors`: of Ajv, with `verbose` set. `at`: the pointer to what was validated, if it was a part of the body. */
export function shapeError(
  errors: readonly FastifySchemaValidationError[],
  part: string,
  at = "",
): SealdexError {
  const error = errors.reduce((furthest, next) => (isFurther(next, furthest) ? next : furthest));
  const { instancePath, keyword, params } = error;
  const missing = keyword === "required" ? `/${String(params.missingProperty)}` : "";
  const place = placeOf(at + instancePath + missing) || part;
  if (isUnsupported(error)) {
    return new SealdexError("not_supported", `${place}: this service does not support it; leave it out`);
  }
  return new SealdexError("invalid_request", `${place}: ${describeFault(error)}`);
}

/**
 * Whether `a` lies further into the data. Of the errors of a union the furthest is of the branch that fits best: of
 * `[[1, 2], [3, null]]` it is the null, not that the first entry is no number.
 */
function isFurther(a: FastifySchemaValidationError, b: FastifySchemaValidationError): boolean {
  const [pathA, pathB] = [a.instancePath.split("/"), b.instancePath.split("/")];
  if (pathA.length !== pathB.length) return pathA.length > pathB.length;
  return Number(pathA.at(-1)) > Number(pathB.at(-1));
}

/** Whether this is about a property that only null is accepted for. */
function isUnsupported(error: FastifySchemaValidationError): boolean {
  const { parentSchema } = error as { readonly parentSchema?: { type?: unknown; deprecated?: unknown } };
  return parentSchema?.type === "null" && parentSchema.deprecated === true;
}

/** `/items/3/id` as `items[3].id`. */
function placeOf(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part, i) => (/^\d+$/.test(part) ? `[${part}]` : `${i === 0 ? "" : "."}${part}`))
    .join("");
}

function describeFault(error: FastifySchemaValidationError): string {
  const { keyword, params, message = "expected something else" } = error;
  const { data } = error as { readonly data?: unknown };
  switch (keyword) {
    case "required":
      return "expected a value, got none";
    case "type":
      return `expected ${String(params.type)}, got ${typeName(data)}`;
    case "enum":
      return `expected one of ${(params.allowedValues as readonly string[]).join(", ")}`;
    case "maxItems":
      return `expected at most ${String(params.limit)} entries, got ${(data as readonly unknown[]).length}`;
    case "additionalProperties":
      return unknownName(String(params.unknown), params.known as readonly string[]);
    case "maxLength":
      return `expected at most ${String(params.limit)} characters`;
    default:
      return message;
  }
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && !Number.isInteger(value) ? "a fraction" : typeof value;
}
