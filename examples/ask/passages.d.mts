/** A passage of a file, as a document. */
export interface Passage {
  readonly id: string;
  readonly pageContent: string;
  readonly metadata: { readonly source: string; readonly heading: string; readonly line: number };
}

export function textFiles(folder: string, inPackages?: boolean): AsyncGenerator<string>;
export function passagesOf(path: string, folder: string): Promise<Passage[]>;
