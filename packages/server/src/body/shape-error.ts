/**
 * Turns a validation error into a SealdexError with the place, the expected and the received value.
 */

import type { FastifySchemaValidationError } from "fastify";
import { SealdexError } from "sealdex/core";
import { unknownName } from "sealdex/wire";

/** `errors`: of Ajv with `verbose`. `at`: pointer to the validated part of the body. */
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
    return new SealdexError("not_supported", `${place}: not supported by this service; omit it`);
  }
  return new SealdexError("invalid_request", `${place}: ${describeFault(error)}`);
}

/**
 * Whether `a` is deeper in the data. The deepest error of a union belongs to the branch that fits
 * best: in `[[1, 2], [3, null]]` the null, instead of the first entry, which is no number.
 */
function isFurther(a: FastifySchemaValidationError, b: FastifySchemaValidationError): boolean {
  const [pathA, pathB] = [a.instancePath.split("/"), b.instancePath.split("/")];
  if (pathA.length !== pathB.length) return pathA.length > pathB.length;
  return Number(pathA.at(-1)) > Number(pathB.at(-1));
}

/** Whether the error is about a property that accepts only null. */
function isUnsupported(error: FastifySchemaValidationError): boolean {
  const { parentSchema } = error as { readonly parentSchema?: { type?: unknown; deprecated?: unknown } };
  return parentSchema?.type === "null" && parentSchema.deprecated === true;
}

/** Turns `/items/3/id` into `items[3].id`. */
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
  const { data, schema } = error as { readonly data?: unknown; readonly schema?: unknown };
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
      return `expected at most ${String(schema)} characters`;
    default:
      return message;
  }
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && !Number.isInteger(value) ? "a fraction" : typeof value;
}
