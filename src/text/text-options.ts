/** How the texts of an index are searched by words: what callers say at its creation. */

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

export interface AnalyzerOptions {
  /**
   * Whose stems and stop words are used. `none` neither stems nor leaves out words: for names, code, or many languages
   * in one index. Chinese, Japanese and Korean are analyzed alike in all of them. Default `english`.
   */
  readonly language?: Language | "none";
  /** Whether words are reduced to stems, so that `running` finds `runs`. Default true. */
  readonly stemming?: boolean;
  /** Words that are not indexed: the language's own, or these. Default true, which means the language's own. */
  readonly stopWords?: boolean | readonly string[];
}

export interface TextIndexOptions {
  readonly analyzer?: AnalyzerOptions;
  /**
   * Texts that are indexed, and what an occurrence in each counts: an integer from 1 to 16. `contents` is the item's contents;
   * any other name is the dotted path of metadata that hold a string or an array of strings. Default `{ contents: 1 }`.
   */
  readonly textFields?: Readonly<Record<string, number>>;
  /** BM25: how soon more occurrences stop to count, 0 to 10. Default 1.5. */
  readonly k1?: number;
  /** BM25: how much the length of a text counts, 0 to 1. Default 0.75. */
  readonly b?: number;
}

/** What an index remembers of its analyzer: the same texts give the same terms for as long as the index exists. */
export interface AnalyzerDefinition {
  /** Of the rules of analysis. */
  readonly version: 1;
  readonly language: Language | "none";
  readonly stemming: boolean;
  readonly stopWords: boolean | readonly string[];
}

/** `TextIndexOptions`, checked, with every default filled in. */
export interface TextDefinition {
  readonly analyzer: AnalyzerDefinition;
  /** At least one, each path once. */
  readonly fields: readonly TextField[];
  readonly k1: number;
  readonly b: number;
}

export interface TextField {
  /** `contents`, or a dotted path of metadata. */
  readonly path: string;
  readonly weight: number;
}
