/** Checks the definition of a new index, and fills in every default. */

import type { KnownModel } from "../embedding/index-embedder.js";
import {
  dimensionMax,
  type IndexConfig,
  indexTypes,
  metrics,
  nListsMax,
  pqBitsMax,
  precisions,
} from "../engine/config.js";
import { SealdexError } from "../errors.js";
import { checkInteger, invalid, typeName } from "../checks/input.js";
import { indexConfigOptions } from "../api/method-options.js";
import { takeOptions } from "../checks/option-names.js";
import { own } from "../checks/value-kinds.js";
import type { CreateIndexOptions } from "../api/vector-index.js";
import type { IndexDefinition } from "./open/stored-definition.js";

const defaultNLists = 1024;
const defaultPqDim = 8;
const defaultPqBits = 8;

/** `known`: the index's embedding model. Throws `invalid_request` or `dimension_mismatch`. */
export function defineIndex(options: CreateIndexOptions, known?: KnownModel): IndexDefinition {
  const { indexConfig: given = { type: "ivfflat" }, metric = "euclidean" } = options;
  const indexConfig = takeOptions(given, indexConfigOptions);
  const { type, nLists = defaultNLists } = indexConfig;
  checkOneOf(type, indexTypes, "indexConfig.type");
  checkOneOf(metric, metrics, "metric");
  checkInteger(nLists, 1, nListsMax, "indexConfig.nLists");
  const dimension = chooseDimension(indexConfig.dimension, known);
  const { precision = "float32", spilling = true } = indexConfig;
  checkOneOf(precision, precisions, "indexConfig.precision");
  if (typeof spilling !== "boolean") {
    throw invalid(`indexConfig.spilling: expected a boolean, got ${typeName(spilling)}`);
  }
  if (type !== "ivfflat") {
    for (const name of ["precision", "spilling"] as const) {
      if (indexConfig[name] === undefined) continue;
      throw invalid(`indexConfig.${name}: expected none, since only ivfflat has it, got a value for ${type}`);
    }
  }
  const config: IndexConfig = own({
    type,
    metric,
    nLists,
    ...(dimension !== undefined && { dimension }),
    ...(precision !== "float32" && { precision }),
    ...(!spilling && { spilling }),
  });
  const model = known !== undefined && { model: known.identity };
  if (type !== "ivfpq") {
    for (const name of ["pqDim", "pqBits"] as const) {
      if (indexConfig[name] === undefined) continue;
      throw invalid(`indexConfig.${name}: expected none, since only ivfpq has it, got a value for ${type}`);
    }
    return { config, ...model };
  }

  const { pqDim = defaultPqDim, pqBits = defaultPqBits } = indexConfig;
  checkInteger(pqDim, 1, dimensionMax, "indexConfig.pqDim");
  checkInteger(pqBits, 1, pqBitsMax, "indexConfig.pqBits");
  const quantized = own({ ...config, pqDim, pqBits });
  if (dimension !== undefined) checkDimensionFits(quantized, dimension);
  return { config: quantized, ...model };
}

/** Throws `dimension_mismatch` where vectors of this dimension cannot be cut into `pqDim` equal parts. */
export function checkDimensionFits({ pqDim }: IndexConfig, dimension: number): void {
  if (pqDim !== undefined && dimension % pqDim !== 0) {
    throw new SealdexError(
      "dimension_mismatch",
      `pqDim: expected a divisor of the dimension ${dimension}, got ${pqDim}`,
    );
  }
}

function chooseDimension(dimension: number | undefined, known: KnownModel | undefined): number | undefined {
  if (dimension !== undefined) checkInteger(dimension, 1, dimensionMax, "indexConfig.dimension");
  if (known === undefined) return dimension;
  if (dimension !== undefined && dimension !== known.dimension) {
    throw new SealdexError(
      "dimension_mismatch",
      `indexConfig.dimension: expected ${known.dimension}, as the embedding model gives, got ${dimension}`,
    );
  }
  checkInteger(known.dimension, 1, dimensionMax, "embedding");
  return known.dimension;
}

function checkOneOf<T extends string>(
  value: unknown,
  allowed: readonly T[],
  where: string,
): asserts value is T {
  if (!(allowed as readonly unknown[]).includes(value)) {
    const received = typeof value === "string" ? JSON.stringify(value.slice(0, 100)) : typeof value;
    throw invalid(`${where}: expected one of ${allowed.join(", ")}, got ${received}`);
  }
}
