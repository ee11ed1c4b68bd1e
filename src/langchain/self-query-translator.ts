/**
 * Converts a language model's structured queries to filters, for LangChain's `SelfQueryRetriever`.
 */

import {
  BaseTranslator,
  type Comparator,
  Comparators,
  type Comparison,
  type Operation,
  type Operator,
  Operators,
  type StructuredQuery,
} from "@langchain/core/structured_query";
import type { Filter } from "../api/filter/compile.js";
import { invalid } from "../checks/input.js";
import type { EncryptedVectorStore } from "./encrypted-vector-store.js";

/**
 * Translates `eq ne lt gt lte gte`, `and` and `or`. Unlike LangChain's own translators, it keeps
 * the default filter if the model returns none, and keeps texts that look like numbers: "2020"
 * matches both the text and the number, since models often add quotation marks.
 */
export class SealdexTranslator extends BaseTranslator<EncryptedVectorStore> {
  declare VisitOperationOutput: Filter;
  declare VisitComparisonOutput: Filter;
  declare VisitStructuredQueryOutput: { filter?: Filter };
  override allowedOperators: Operator[] = [Operators.and, Operators.or];
  override allowedComparators: Comparator[] = Object.values(Comparators);

  /** The operator's name in a filter. Throws `invalid_request` for an unsupported one. */
  override formatFunction(func: Operator | Comparator): string {
    const allowed: readonly string[] = [...this.allowedOperators, ...this.allowedComparators];
    if (!allowed.includes(func)) {
      throw invalid(`structured query: expected one of ${allowed.join(", ")}, got ${JSON.stringify(func)}`);
    }
    return `$${func}`;
  }

  override visitOperation({ operator, args = [] }: Operation): Filter {
    const name = this.formatFunction(operator);
    const parts = args.map((part) => part.accept(this) as Filter);
    return parts.length === 0 ? {} : { [name]: parts };
  }

  override visitComparison({ comparator, attribute, value }: Comparison): Filter {
    const name = this.formatFunction(comparator);
    const number = typeof value === "string" ? Number(value) : Number.NaN;
    if (!Number.isFinite(number) || String(number) !== value) return { [attribute]: { [name]: value } };
    if (comparator === "eq") return { [attribute]: { $in: [value, number] } };
    if (comparator === "ne") return { [attribute]: { $nin: [value, number] } };
    return { $or: [{ [attribute]: { [name]: value } }, { [attribute]: { [name]: number } }] };
  }

  override visitStructuredQuery({ filter }: StructuredQuery): { filter?: Filter } {
    return filter === undefined || filter === null ? {} : { filter: filter.accept(this) as Filter };
  }

  /**
   * Returns the other filter if one is empty. Otherwise merges by `mergeType`: `replace` keeps the
   * generated one; with `forceDefaultFilter`, always both.
   */
  override mergeFilters(
    defaultFilter: Filter | undefined,
    generatedFilter: Filter | undefined,
    mergeType: "and" | "or" | "replace" = "and",
    forceDefaultFilter = false,
  ): Filter | undefined {
    if (isEmpty(generatedFilter)) return isEmpty(defaultFilter) ? undefined : defaultFilter;
    if (isEmpty(defaultFilter)) return generatedFilter;
    if (mergeType === "and" || forceDefaultFilter) return { $and: [defaultFilter, generatedFilter] };
    if (mergeType === "or") return { $or: [defaultFilter, generatedFilter] };
    if (mergeType === "replace") return generatedFilter;
    throw invalid(`mergeFiltersOperator: expected and, or or replace, got ${JSON.stringify(mergeType)}`);
  }
}

function isEmpty(filter: Filter | undefined): filter is undefined {
  return filter === undefined || filter === null || Object.keys(filter).length === 0;
}
