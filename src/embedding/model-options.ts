/** How models are found by name. */

import { optionNames } from "../option-names.js";

export interface ModelOptions {
  /** A folder that holds models, each in a folder of its name; looked at before anything is downloaded. */
  readonly localFolder?: string;
  /** Where downloaded models are kept. Default: `sealdex/models` in the user's cache folder. */
  readonly cacheFolder?: string;
  /** Whether nothing is downloaded: a model that is not on this machine is then an error. Default false. */
  readonly offline?: boolean;
  /** Names that are accepted, besides the built-in models. Default: all. */
  readonly allowed?: readonly string[];
  /** The precision of weights: `q8` (8 bits, the default), `fp16` or `fp32`. */
  readonly precision?: "q8" | "fp16" | "fp32";
  /**
   * Whether a call that needs a model rejects with `model_loading` while the model loads. Default false: the call
   * waits.
   */
  readonly failWhileLoading?: boolean;
  /** Called as files of a model arrive. */
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

export interface ModelProgress {
  readonly model: string;
  readonly file: string;
  /** In bytes. */
  readonly loaded: number;
  readonly total: number;
}
