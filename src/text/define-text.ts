/** Checks the options of a text index and fills in the defaults. */

import { invalid } from "../checks/input.js";
import { optionNames, takeOptions } from "../checks/option-names.js";
import type { Analyzer } from "./analyzer.js";
import {
  type AnalyzerDefinition,
  type AnalyzerOptions,
  languages,
  type TextDefinition,
  type TextIndexOptions,
} from "./text-options.js";

const textIndexOptions = optionNames<TextIndexOptions>("textIndex", {
  analyzer: true,
  textFields: true,
  k1: true,
  b: true,
});
const analyzerOptions = optionNames<AnalyzerOptions>("textIndex.analyzer", {
  language: true,
  stemming: true,
  stopWords: true,
});

const defaultK1 = 1.5;
const defaultB = 0.75;
export const k1Max = 10;
export const weightMax = 16;
export const fieldsMax = 32;
export const pathLengthMax = 256;
export const stopWordsMax = 10_000;
/** Characters. */
export const stopWordLengthMax = 64;

/** How the texts of an index are searched by words. */
export interface IndexWords {
  readonly definition: TextDefinition;
  readonly analyzer: Analyzer;
}

/** Throws `invalid_request`. */
export function defineText(options: TextIndexOptions): TextDefinition {
  options = takeOptions(options, textIndexOptions);
  const { analyzer = {}, textFields = { contents: 1 }, k1 = defaultK1, b = defaultB } = options;
  checkNumber(k1, k1Max, "textIndex.k1");
  checkNumber(b, 1, "textIndex.b");
  return { analyzer: defineAnalyzer(analyzer), fields: fieldsOf(textFields), k1, b };
}

function defineAnalyzer(options: AnalyzerOptions): AnalyzerDefinition {
  options = takeOptions(options, analyzerOptions);
  const { language = "english", stemming = true, stopWords = true } = options;
  if (language !== "none" && !languages.includes(language)) {
    throw invalid(`textIndex.analyzer.language: expected none or one of ${languages.join(", ")}`);
  }
  if (typeof stemming !== "boolean") throw invalid("textIndex.analyzer.stemming: expected a boolean");
  if (typeof stopWords === "boolean") return { version: 1, language, stemming, stopWords };
  checkStopWords(stopWords);
  return { version: 1, language, stemming, stopWords: [...stopWords] };
}

function checkStopWords(words: unknown): void {
  const isList = Array.isArray(words) && words.length <= stopWordsMax;
  if (
    !isList ||
    !words.every((word) => typeof word === "string" && word !== "" && word.length <= stopWordLengthMax)
  ) {
    throw invalid(
      `textIndex.analyzer.stopWords: expected a boolean, or at most ${stopWordsMax} strings of 1 to ${stopWordLengthMax} characters`,
    );
  }
}

function fieldsOf(weights: Readonly<Record<string, number>>): TextDefinition["fields"] {
  if (typeof weights !== "object" || weights === null || Array.isArray(weights)) {
    throw invalid("textIndex.textFields: expected an object of weights");
  }
  const fields = Object.entries(weights).map(([path, weight]) => ({ path, weight }));
  if (fields.length === 0 || fields.length > fieldsMax) {
    throw invalid(`textIndex.textFields: expected 1 to ${fieldsMax} fields, got ${fields.length}`);
  }
  for (const [i, { path, weight }] of fields.entries()) {
    if (path.length > pathLengthMax || path.split(".").includes("")) {
      throw invalid(
        `textIndex.textFields: expected contents or dotted paths of at most ${pathLengthMax} characters, field ${i} is none`,
      );
    }
    if (!Number.isInteger(weight) || weight < 1 || weight > weightMax) {
      throw invalid(
        `textIndex.textFields: expected weights that are integers from 1 to ${weightMax}, field ${i} has another`,
      );
    }
  }
  return fields;
}

function checkNumber(value: unknown, max: number, where: string): void {
  if (typeof value !== "number" || !(value >= 0 && value <= max)) {
    throw invalid(`${where}: expected a number from 0 to ${max}`);
  }
}
