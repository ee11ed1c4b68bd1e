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

/** Stems words in lower case and NFC. Instances keep no state between words. */
export const stemmers: Readonly<Record<StemmedLanguage, new () => { stemWord(word: string): string }>>;

/** Words in lower case, separated by spaces. */
export const stopWords: Readonly<Partial<Record<StemmedLanguage, string>>>;
