/** mingo as an oracle for filters, and where it is known to follow MongoDB. */

import { Query } from "mingo";

type Metadata = Record<string, unknown>;

/** Whether mingo says that the filter matches. */
export function oracle(filter: unknown, metadata: Metadata): boolean {
  return new Query(inMongo(filter) as ConstructorParameters<typeof Query>[0]).test(metadata);
}

/** A `$not` of filters as MongoDB says it, and lists that it does not take without any filter. */
function inMongo(filter: unknown): unknown {
  const parts = Object.entries(filter as Metadata).map(([key, value]) => {
    if (key === "$not") return { $nor: [inMongo(value)] };
    if (!isList(key)) return { [key]: value };
    const children = (value as unknown[]).map(inMongo);
    const isOfNone = key === "$and" ? {} : { $nor: [{}] };
    return { [key]: children.length > 0 ? children : [isOfNone] };
  });
  return parts.length === 0 ? {} : { $and: parts };
}

const isList = (key: string) => key === "$and" || key === "$or" || key === "$nor";

interface Condition {
  readonly path: string;
  readonly operator: string;
  readonly operands: readonly unknown[];
}

export function conditionsOf(filter: Metadata): Condition[] {
  return Object.entries(filter).flatMap(([path, value]) => {
    if (isList(path)) return (value as Metadata[]).flatMap(conditionsOf);
    if (path === "$not") return conditionsOf(value as Metadata);
    const hasOperators = isObject(value) && Object.keys(value).some((key) => key.startsWith("$"));
    const operators = hasOperators ? { ...value, ...(value.$not as Metadata | undefined) } : { $eq: value };
    return Object.entries(operators)
      .filter(([operator]) => operator !== "$not")
      .map(([operator, operand]) => ({
        path,
        operator,
        operands: operator === "$in" || operator === "$nin" ? (operand as unknown[]) : [operand],
      }));
  });
}

/** Whether mingo and MongoDB are known to agree on this condition. */
export function agrees(metadata: Metadata, { path, operator, operands }: Condition): boolean {
  if (operator === "$contains") return false;
  const isEquality = operator === "$eq" || operator === "$ne";
  const isRange = /^\$[gl]te?$/.test(operator);
  if (!isEquality && operands.some(Array.isArray)) return false;
  if (isRange && (isObject(operands[0]) || operands[0] === null)) return false;
  const { crossed, nested } = arraysOn(path.split("."), metadata, false);
  if (!path.includes(".")) return true;
  if (operator === "$exists" && crossed && path.split(".").length > 2) return false;
  return (
    !nested && (!crossed || operands.every((operand) => operand !== null && typeof operand !== "object"))
  );
}

interface Arrays {
  /** The path leads through an array. */
  readonly crossed: boolean;
  /** It leads through a second one inside, or an array within an array is there or at its end. */
  readonly nested: boolean;
}

function arraysOn(path: string[], value: unknown, crossed: boolean): Arrays {
  const [part, ...rest] = path;
  if (part === undefined) {
    return { crossed, nested: Array.isArray(value) && (crossed || value.some(Array.isArray)) };
  }
  if (isObject(value)) return arraysOn(rest, value[part], crossed);
  if (!Array.isArray(value)) return { crossed, nested: false };
  const elements = /^\d+$/.test(part)
    ? [arraysOn(rest, value[Number(part)], true)]
    : value.map((element) => arraysOn(path, element, true));
  const nested = crossed || value.some(Array.isArray) || elements.some((element) => element.nested);
  return { crossed: true, nested };
}

function isObject(value: unknown): value is Metadata {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
