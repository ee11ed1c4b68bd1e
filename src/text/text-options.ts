/** Options of keyword search, declared when an index is created. */

export const languages = [
  "danish",
  "dutch",
  "english",
  "finnish",
  "french",
  "german",
  "hungarian",
  "italian",
  "norwegian",
  "portuguese",
  "romanian",
  "russian",
  "spanish",
  "swedish",
  "turkish",
] as const;

/** A language with stemming. */
export type Language = (typeof languages)[number];

/** Options of splitting text into terms. */
export interface AnalyzerOptions {
  /**
   * Language of stems and stop words. `none` neither stems nor drops words: for names, code, or
   * many languages in one index. Chinese, Japanese and Korean are analyzed alike in all of them.
   * Default `english`.
   */
  readonly language?: Language | "none";
  /** Whether words are reduced to stems, so that `running` finds `runs`. Default true. */
  readonly stemming?: boolean;
  /** Words that are not indexed: the language's own (true), or these. Default true. */
  readonly stopWords?: boolean | readonly string[];
}

/** Options of the index for keyword search. */
export interface TextIndexOptions {
  readonly analyzer?: AnalyzerOptions;
  /**
   * Indexed fields with the weight of an occurrence in each, an integer from 1 to 16. `contents` is
   * the item's contents; any other name is the dotted path of metadata with a string or an array of
   * strings. Default `{ contents: 1 }`.
   */
  readonly textFields?: Readonly<Record<string, number>>;
  /** BM25: saturation of term frequency, 0 to 10. Default 1.5. */
  readonly k1?: number;
  /** BM25: influence of document length, 0 to 1. Default 0.75. */
  readonly b?: number;
}

/** The analyzer as stored in an index: equal texts give equal terms for the life of the index. */
export interface AnalyzerDefinition {
  /** Version of the rules of analysis. */
  readonly version: 1;
  readonly language: Language | "none";
  readonly stemming: boolean;
  readonly stopWords: boolean | readonly string[];
}

/** `TextIndexOptions` with every default filled in. */
export interface TextDefinition {
  readonly analyzer: AnalyzerDefinition;
  /** At least one; paths are unique. */
  readonly fields: readonly TextField[];
  readonly k1: number;
  readonly b: number;
}

export interface TextField {
  /** `contents`, or a dotted path of metadata. */
  readonly path: string;
  readonly weight: number;
}
