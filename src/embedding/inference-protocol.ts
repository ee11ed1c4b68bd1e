/** The requests to a thread for inference, and its replies. */

import type { Pooling } from "./embedder.js";
import type { ImageSource } from "./read-image.js";

/** Where the files of a model are and how they are read. */
export interface ModelSource {
  /** Under `localFolder`, and on the hub. */
  readonly id: string;
  /** A commit or branch on the hub. */
  readonly revision?: string;
  /** An absolute path, or empty if only the hub is meant. */
  readonly localFolder: string;
  readonly cacheFolder: string;
  readonly offline: boolean;
  readonly precision: "q8" | "fp16" | "fp32";
}

export type InferenceTask =
  | {
      readonly kind: "embed";
      readonly texts: readonly string[];
      readonly pooling: Pooling;
      readonly tokensMax?: number;
    }
  | { readonly kind: "image"; readonly image: ImageSource }
  /** Answered with 1 if the model embeds images, else 0. */
  | { readonly kind: "embeds-images" }
  | { readonly kind: "score"; readonly query: string; readonly documents: readonly string[] };

export interface InferenceRequest {
  readonly source: ModelSource;
  readonly task: InferenceTask;
}

/** Layout (texts, images or documents, width). */
export interface InferenceResult {
  readonly values: Float32Array;
  readonly width: number;
}

export type InferenceReply =
  | { readonly kind: "done"; readonly result: InferenceResult }
  | { readonly kind: "failed"; readonly failure: InferenceFailure }
  | { readonly kind: "progress"; readonly file: string; readonly loaded: number; readonly total: number };

export interface InferenceFailure {
  /**
   * `package`: transformers.js is not installed. `model`: its files could not be had. `image`: it embeds texts alone, or the
   * image cannot be decoded. `run`: it did not run.
   */
  readonly stage: "package" | "model" | "image" | "run";
  readonly message: string;
}
