/**
 * Mastra's filters as filters of Sealdex. Both are MongoDB's query documents; Mastra's stores differ from them in three
 * ways, which this follows: an array stands for any of its values, a nested object for the paths of its fields, and a Date
 * for its ISO text, which is how metadata hold it.
 */

import type { VectorFilter } from "@mastra/core/vector/filter";
import { type Filter, SealdexError } from "sealdex/core";

const comparisons: readonly string[] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$exists", "$contains"];

/**
 * Undefined for a filter without conditions. Throws `not_supported` for an operator that Sealdex
 * lacks (`$regex`, `$elemMatch`, `$size`), and `invalid_request` for a value that matches by accident:
 * undefined, a Map, or `$and`, `$or`, `$nor` and `$not` without conditions.
 */
export function translateFilter(filter: VectorFilter): Filter | undefined {
  if (filter === null || filter === undefined) return undefined;
  if (!isObject(filter)) throw invalid("filter", "expected an object");
  try {
    const conditions = conditionsOf(filter, "");
    return conditions.length === 0 ? undefined : allOf(conditions);
  } catch (error) {
    if (error instanceof RangeError)
      throw invalid("filter", "expected valid dates, no cycle and no deep nesting");
    throw error;
  }
}

function conditionsOf(fields: Readonly<Record<string, unknown>>, within: string): Filter[] {
  return Object.entries(fields).flatMap(([key, value]) => {
    const path = within === "" ? key : `${within}.${key}`;
    if (key === "$and" || key === "$or" || key === "$nor") {
      if (!Array.isArray(value) || value.length === 0) throw invalid(path, "expected filters");
      return [{ [key]: value.map((one: unknown) => nonEmpty(one, path)) } as Filter];
    }
    if (key === "$not") return [{ $not: nonEmpty(value, path) }];
    if (key.startsWith("$")) throw unsupported(key, within || "filter");
    if (hasOperators(value)) return operatorsOf(value, path);
    if (isObject(value) && Object.keys(value).length > 0) return conditionsOf(value, path);
    return [Array.isArray(value) ? test(path, "$in", value.map(toJson(path))) : test(path, "$eq", value)];
  });
}

function operatorsOf(operators: Readonly<Record<string, unknown>>, path: string): Filter[] {
  return Object.entries(operators).flatMap(([name, operand]) => {
    if (comparisons.includes(name)) return [test(path, name, operand)];
    if (name === "$in" || name === "$nin") return [test(path, name, listOf(operand))];
    if (name === "$all") {
      const values = listOf(operand);
      return values.length === 0 ? [test(path, "$in", [])] : values.map((value) => test(path, "$eq", value));
    }
    if (name === "$not" && operand instanceof RegExp) throw unsupported("$regex", path);
    if (name === "$not") {
      if (!hasOperators(operand)) throw invalid(`${path}.$not`, "expected operators");
      return [{ $not: allOf(operatorsOf(operand, path)) }];
    }
    throw unsupported(name, path);
  });
}

function test(path: string, operator: string, operand: unknown): Filter {
  const json = Array.isArray(operand) ? operand.map(toJson(path)) : toJson(path)(operand);
  return { [path]: { [operator]: json } } as Filter;
}

/** The index checks all other values. */
function toJson(path: string): (value: unknown) => unknown {
  return (value) => {
    if (value === undefined) throw invalid(path, "expected a value, got undefined");
    if (value instanceof RegExp) throw unsupported("$regex", path);
    return value instanceof Date ? value.toISOString() : value;
  };
}

function nonEmpty(filter: unknown, path: string): Filter {
  const conditions = isObject(filter) ? conditionsOf(filter, "") : [];
  if (conditions.length === 0) throw invalid(path, "expected a filter with conditions");
  return allOf(conditions);
}

function allOf(conditions: readonly Filter[]): Filter {
  const [first, ...others] = conditions;
  return first !== undefined && others.length === 0 ? first : { $and: conditions };
}

function listOf(operand: unknown): readonly unknown[] {
  return Array.isArray(operand) ? operand : [operand];
}

function hasOperators(value: unknown): value is Record<string, unknown> {
  return isObject(value) && Object.keys(value).some((key) => key.startsWith("$"));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return Object.prototype.toString.call(value) === "[object Object]";
}

function invalid(path: string, message: string): SealdexError {
  return new SealdexError("invalid_request", `filter: ${path}: ${message}`);
}

function unsupported(operator: string, path: string): SealdexError {
  return new SealdexError("not_supported", `filter: ${path}: Sealdex has no operator ${operator}`);
}
