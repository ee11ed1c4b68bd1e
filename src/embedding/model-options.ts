/** Options for models that are loaded by name. */

import { optionNames } from "../checks/option-names.js";

/** Options of loading embedding models and rerankers. */
export interface ModelOptions {
  /** A folder of models, each in a folder with its name, searched before any download. */
  readonly localFolder?: string;
  /** Folder of downloaded models. Default: `sealdex/models` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Disables downloads: a model that is not on this machine is then an error. Default false. */
  readonly offline?: boolean;
  /** Names accepted besides the built-in models. Default: all. */
  readonly allowed?: readonly string[];
  /** Precision of weights: `q8` (8 bits, the default), `fp16` or `fp32`. */
  readonly precision?: "q8" | "fp16" | "fp32";
  /**
   * Whether a call rejects with `model_loading` while its model is loading. Default false: the call
   * waits.
   */
  readonly failWhileLoading?: boolean;
  /** Called during downloads. */
  readonly onProgress?: (progress: ModelProgress) => void;
}

export const modelOptionTable = {
  localFolder: true,
  cacheFolder: true,
  offline: true,
  allowed: true,
  precision: true,
  failWhileLoading: true,
  onProgress: true,
} as const;

export const modelOptions = optionNames<ModelOptions>("models", modelOptionTable);

/** Progress of the download of a model. */
export interface ModelProgress {
  readonly model: string;
  readonly file: string;
  /** In bytes. */
  readonly loaded: number;
  readonly total: number;
}
