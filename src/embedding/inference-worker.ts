/**
 * Source of the inference thread: loads models through whichever transformers.js package is
 * installed, and handles one request at a time. Names with underscores belong to transformers.js.
 * The thread gets this module as text, so that bundles need no other file; it may import only
 * Node's modules and types.
 */

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import type {
  InferenceFailure,
  InferenceReply,
  InferenceRequest,
  InferenceResult,
  InferenceTask,
  ModelSource,
} from "./inference-protocol.js";
import type { Pixels } from "./image.js";
import type { ImageSource } from "./read-image.js";

const packages = ["@huggingface/transformers", "@xenova/transformers"];

interface Tensor {
  readonly data: ArrayLike<number>;
  readonly dims: readonly number[];
}
interface Tokenizer {
  readonly model_max_length: number;
  (texts: readonly string[], options: object): unknown;
}
type Model = (inputs: unknown) => Promise<Readonly<Record<string, Tensor>>>;
type Extractor = ((texts: readonly string[], options: object) => Promise<Tensor>) & {
  readonly tokenizer: Tokenizer;
};
interface RawImage extends Pixels {
  rgb(): RawImage;
}
type ImageProcessor = (image: RawImage) => Promise<unknown>;
interface Loader<T> {
  from_pretrained(id: string, options: object): Promise<T>;
}
interface Transformers {
  readonly env: {
    version: string;
    localModelPath: string;
    allowLocalModels: boolean;
    allowRemoteModels: boolean;
  };
  pipeline(task: "feature-extraction", id: string, options: object): Promise<Extractor>;
  readonly AutoTokenizer: Loader<Tokenizer>;
  readonly AutoModelForSequenceClassification: Loader<Model>;
  readonly AutoConfig: Loader<{ readonly model_type: string }>;
  readonly AutoProcessor: Loader<ImageProcessor>;
  readonly CLIPTextModelWithProjection: Loader<Model>;
  readonly CLIPVisionModelWithProjection: Loader<Model>;
  readonly SiglipTextModel: Loader<Model>;
  readonly SiglipVisionModel: Loader<Model>;
  readonly RawImage: {
    new (data: Uint8Array | Uint8ClampedArray, width: number, height: number, channels: number): RawImage;
    fromBlob(blob: Blob): Promise<RawImage>;
  };
}

/** The text and image classes of dual encoders, by model type. */
const dualEncoders = new Map([
  ["clip", { text: "CLIPTextModelWithProjection", vision: "CLIPVisionModelWithProjection", padding: true }],
  // Trained on texts of a fixed length.
  ["siglip", { text: "SiglipTextModel", vision: "SiglipVisionModel", padding: "max_length" }],
] as const);

class Failure extends Error {
  readonly stage: InferenceFailure["stage"];

  constructor(stage: InferenceFailure["stage"], cause: unknown) {
    super(String((cause as { message?: unknown } | null)?.message ?? cause));
    this.stage = stage;
  }
}

let transformers: Promise<Transformers> | undefined;
const loaded = new Map<string, Promise<unknown>>();
let queue = Promise.resolve();

parentPort?.on("message", (request: InferenceRequest) => {
  queue = queue.then(() => answer(request));
});

async function answer(request: InferenceRequest): Promise<void> {
  try {
    const result = await run(request);
    reply({ kind: "done", result }, [result.values.buffer as ArrayBuffer]);
  } catch (error) {
    const failure = error instanceof Failure ? error : new Failure("run", error);
    reply({ kind: "failed", failure: { stage: failure.stage, message: failure.message } });
  }
}

function reply(message: InferenceReply, transfer: readonly ArrayBuffer[] = []): void {
  parentPort?.postMessage(message, transfer);
}

async function run({ source, task }: InferenceRequest): Promise<InferenceResult> {
  switch (task.kind) {
    case "embed":
      return embed(source, task);
    case "image":
      return embedImage(source, task.image);
    case "embeds-images": {
      const isDual = (await dualEncoderOf(source)) !== undefined;
      return { values: Float32Array.of(isDual ? 1 : 0), width: 1 };
    }
    case "score": {
      const [tokenizer, model] = await load("scorer", source, ({ AutoTokenizer, ...library }, options) =>
        Promise.all([
          AutoTokenizer.from_pretrained(source.id, options),
          library.AutoModelForSequenceClassification.from_pretrained(source.id, options),
        ]),
      );
      const queries = task.documents.map(() => task.query);
      const pairs = tokenizer(queries, { text_pair: task.documents, padding: true, truncation: true });
      return toResult((await model(pairs)).logits);
    }
  }
}

type EmbedTask = Extract<InferenceTask, { readonly kind: "embed" }>;

async function embed(
  source: ModelSource,
  { texts, pooling, tokensMax }: EmbedTask,
): Promise<InferenceResult> {
  const dual = await dualEncoderOf(source);
  if (dual !== undefined) {
    const [tokenizer, model] = await load("text", source, ({ AutoTokenizer, ...library }, options) =>
      Promise.all([
        AutoTokenizer.from_pretrained(source.id, options),
        library[dual.text].from_pretrained(source.id, options),
      ]),
    );
    return unitRows(await model(tokenizer(texts, { padding: dual.padding, truncation: true })));
  }
  const extractor = await load("pipeline", source, ({ pipeline }, options) =>
    pipeline("feature-extraction", source.id, options),
  );
  const { tokenizer } = extractor;
  const limit = Math.min(tokensMax ?? Infinity, tokenizer.model_max_length);
  // Some versions of transformers.js define it as a getter.
  Object.defineProperty(tokenizer, "model_max_length", { value: limit, configurable: true });
  return toResult(await extractor(texts, { pooling, normalize: true }));
}

async function embedImage(source: ModelSource, image: ImageSource): Promise<InferenceResult> {
  const dual = await dualEncoderOf(source);
  if (dual === undefined) throw new Failure("image", "this model embeds no images");
  const { decoder, processor, model } = await load("vision", source, async (library, options) => ({
    decoder: library.RawImage,
    processor: await library.AutoProcessor.from_pretrained(source.id, options),
    model: await library[dual.vision].from_pretrained(source.id, options),
  }));
  return unitRows(await model(await processor(await decode(decoder, image))));
}

async function decode(decoder: Transformers["RawImage"], image: ImageSource): Promise<RawImage> {
  if ("channels" in image) return toRgb(decoder, image);
  try {
    return toRgb(decoder, await decoder.fromBlob(new Blob([new Uint8Array(image)])));
  } catch {
    throw new Failure("image", "the image's file could not be decoded");
  }
}

function toRgb(decoder: Transformers["RawImage"], { data, width, height, channels }: Pixels): RawImage {
  if (channels !== 2) return new decoder(data, width, height, channels).rgb();
  // transformers.js does not convert gray with alpha.
  const grey = Uint8Array.from({ length: width * height }, (_, i) => data[2 * i]);
  return new decoder(grey, width, height, 1).rgb();
}

async function dualEncoderOf(source: ModelSource) {
  const config = await load("config", source, ({ AutoConfig }, options) =>
    AutoConfig.from_pretrained(source.id, options),
  );
  return dualEncoders.get(config.model_type as "clip" | "siglip");
}

/** Caches the result of `read` per source; a failure is not cached. */
function load<T>(
  what: string,
  source: ModelSource,
  read: (transformers: Transformers, options: object) => Promise<T>,
): Promise<T> {
  const key = JSON.stringify([what, source]);
  const known = loaded.get(key) as Promise<T> | undefined;
  const found = known ?? readModel(source, read);
  if (known === undefined) found.catch(() => loaded.delete(key));
  loaded.set(key, found);
  return found;
}

async function readModel<T>(
  source: ModelSource,
  read: (transformers: Transformers, options: object) => Promise<T>,
): Promise<T> {
  transformers ??= importTransformers();
  const library = await transformers;
  const { env } = library;
  env.allowLocalModels = source.localFolder !== "";
  env.localModelPath = source.localFolder;
  env.allowRemoteModels = !source.offline;
  const isQuantized = source.precision === "q8";
  // Version 2 has `quantized`, later ones `dtype`.
  const weights = env.version.startsWith("2.") ? { quantized: isQuantized } : { dtype: source.precision };
  const options = {
    ...weights,
    cache_dir: source.cacheFolder,
    local_files_only: source.offline,
    ...(source.revision !== undefined && { revision: source.revision }),
    progress_callback: ({ status, file, loaded: bytes, total }: Progress) => {
      if (status === "progress") reply({ kind: "progress", file, loaded: bytes, total });
    },
  };
  try {
    return await read(library, options);
  } catch (error) {
    throw new Failure("model", error);
  }
}

interface Progress {
  readonly status: string;
  readonly file: string;
  readonly loaded: number;
  readonly total: number;
}

async function importTransformers(): Promise<Transformers> {
  for (const name of packages) {
    const file = findPackage(name);
    if (file === undefined) continue;
    try {
      const module = (await import(pathToFileURL(file).href)) as Transformers & { default?: Transformers };
      return module.env === undefined && module.default !== undefined ? module.default : module;
    } catch (error) {
      throw new Failure("package", error);
    }
  }
  throw new Failure("package", `neither ${packages.join(" nor ")} is installed`);
}

/**
 * Finds the main file of a package. This script has no location from which `import` could resolve a
 * name.
 */
function findPackage(name: string): string | undefined {
  const { places } = workerData as { readonly places: readonly string[] };
  for (const place of places) {
    try {
      return createRequire(place).resolve(name);
    } catch {
      // Not installed next to this path.
    }
  }
  return undefined;
}

/** The first dimension counts rows; the others form one row. */
function toResult({ data, dims }: Tensor): InferenceResult {
  const values = Float32Array.from(data);
  return { values, width: dims[0] === 0 ? 0 : values.length / dims[0] };
}

/** The embeddings of a dual encoder with norm 1. Exports differ in their names. */
function unitRows(outputs: Readonly<Record<string, Tensor>>): InferenceResult {
  const { text_embeds, image_embeds, pooler_output } = outputs;
  const { values, width } = toResult(text_embeds ?? image_embeds ?? pooler_output);
  for (let start = 0; start < values.length; start += width) {
    const row = values.subarray(start, start + width);
    const norm = Math.hypot(...row);
    if (norm > 0) row.forEach((component, i) => (row[i] = component / norm));
  }
  return { values, width };
}
