/** Requests to the inference thread, and its replies. */

import type { Pooling } from "./embedder.js";
import type { ImageSource } from "./read-image.js";

/** The files of a model and their precision. */
export interface ModelSource {
  /** Name below `localFolder` and on the hub. */
  readonly id: string;
  /** A commit or branch on the hub. */
  readonly revision?: string;
  /** An absolute path, or empty for the hub only. */
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
  /** The reply is 1 if the model embeds images, else 0. */
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
   * `package`: transformers.js is not installed. `model`: the model's files could not be loaded.
   * `image`: the model embeds only texts, or the image cannot be decoded. `run`: inference failed.
   */
  readonly stage: "package" | "model" | "image" | "run";
  readonly message: string;
}
