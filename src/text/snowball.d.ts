/** Snowball's stemmers and stop words. scripts/build-snowball.mjs writes the module, one file per module format. */

export type StemmedLanguage =
  | "danish"
  | "dutch"
  | "english"
  | "finnish"
  | "french"
  | "german"
  | "hungarian"
  | "italian"
  | "norwegian"
  | "portuguese"
  | "romanian"
  | "russian"
  | "spanish"
  | "swedish"
  | "turkish";

/** A word in lower case and NFC to its stem. An instance keeps no state between words. */
export const stemmers: Readonly<Record<StemmedLanguage, new () => { stemWord(word: string): string }>>;

/** Words in lower case, with spaces between them. */
export const stopWords: Readonly<Partial<Record<StemmedLanguage, string>>>;
