/**
 * Models that the tests build themselves, in the folders that transformers.js reads: text embedders, a cross-encoder, and
 * embedders of texts and images, over one small vocabulary. Rows of tokens are pseudo-random, so that texts are near when they share words.
 */

import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encodeOnnx, float, type Graph, int64, type Node } from "./onnx.js";

const words = `
  keys are rotated every year salmon swim upstream how often a the of river passwords changed sealed vectors in storage
  query passage : an index fox quick brown jumps over lazy dog . ? red green blue
`.match(/\S+/g) as string[];
const vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ...words];

export const smallDimension = 32;
const imageSize = 8;

/**
 * A folder with `small-embedder`, `e5-small` (the same files), `small-cross-encoder`, and two that embed images too,
 * `small-clip` and `small-siglip`. `seed`: other rows.
 */
export async function buildModels(seed = 1): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "sealdex-models-"));
  const write = (name: string, model: SmallModel) => writeModel(join(folder, name), model);
  const text = { type: "bert", files: { model: embedder(seed) } };
  await write("small-embedder", text);
  await write("e5-small", text);
  await write("small-cross-encoder", { type: "bert", files: { model: crossEncoder(seed) } });
  for (const [type, textOutput, imageOutput] of [
    ["clip", "text_embeds", "image_embeds"],
    ["siglip", "pooler_output", "pooler_output"],
  ]) {
    const files = {
      text_model: textEncoder(seed, textOutput),
      vision_model: imageEncoder(seed, imageOutput),
    };
    await write(`small-${type}`, { type, files });
  }
  return folder;
}

interface SmallModel {
  readonly type: string;
  /** By name, without its ending. */
  readonly files: Readonly<Record<string, Graph>>;
}

async function writeModel(folder: string, { type, files }: SmallModel): Promise<void> {
  await mkdir(join(folder, "onnx"), { recursive: true });
  const special = { unk_token: "[UNK]", sep_token: "[SEP]", pad_token: "[PAD]", cls_token: "[CLS]" };
  const config = {
    model_type: type,
    hidden_size: smallDimension,
    vocab_size: vocabulary.length,
    num_hidden_layers: 0,
    num_attention_heads: 1,
    id2label: { 0: "score" },
  };
  const json = (name: string, value: object) => writeFile(join(folder, name), JSON.stringify(value));
  await json("config.json", config);
  await json("tokenizer.json", tokenizer());
  await json("tokenizer_config.json", {
    ...special,
    tokenizer_class: "BertTokenizer",
    do_lower_case: true,
    model_max_length: 64,
  });
  await json("special_tokens_map.json", special);
  await json("preprocessor_config.json", {
    feature_extractor_type: type === "clip" ? "CLIPFeatureExtractor" : "SiglipImageProcessor",
    do_resize: true,
    size: { height: imageSize, width: imageSize },
    do_center_crop: false,
    do_rescale: true,
    do_normalize: false,
    do_convert_rgb: true,
    resample: 2,
  });
  for (const [name, graph] of Object.entries(files)) {
    await writeFile(join(folder, "onnx", `${name}_quantized.onnx`), encodeOnnx(graph));
  }
}

function tokenizer(): object {
  const special = (id: number) => ({
    id,
    content: vocabulary[id],
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  });
  const token = (id: string, type: number) => ({ SpecialToken: { id, type_id: type } });
  const sequence = (id: string, type: number) => ({ Sequence: { id, type_id: type } });
  const single = [token("[CLS]", 0), sequence("A", 0), token("[SEP]", 0)];
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: [0, 1, 2, 3, 4].map(special),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single,
      pair: [...single, sequence("B", 1), token("[SEP]", 1)],
      special_tokens: Object.fromEntries(
        ["[CLS]", "[SEP]"].map((id) => [id, { id, ids: [vocabulary.indexOf(id)], tokens: [id] }]),
      ),
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id])),
    },
  };
}

const inputs = ["input_ids", "attention_mask", "token_type_ids"].map((name) => ({
  name,
  type: int64,
  shape: ["batch", "tokens"],
}));

/** The rows of a text's tokens. Special tokens have rows of zeros. */
function embedder(seed: number): Graph {
  return {
    inputs,
    outputs: [{ name: "last_hidden_state", type: float, shape: ["batch", "tokens", smallDimension] }],
    nodes: [{ type: "Gather", inputs: ["rows", "input_ids"], output: "last_hidden_state" }],
    constants: { rows: [rows(seed), [vocabulary.length, smallDimension]] },
  };
}

/** The sum of the rows of a text's tokens. */
function textEncoder(seed: number, output: string): Graph {
  return {
    inputs: inputs.slice(0, 1),
    outputs: [{ name: output, type: float, shape: ["batch", smallDimension] }],
    nodes: [
      { type: "Gather", inputs: ["rows", "input_ids"], output: "tokens" },
      sum("tokens", "one", output, 0),
    ],
    constants: {
      rows: [rows(seed), [vocabulary.length, smallDimension]],
      one: [BigInt64Array.of(1n), [1]],
    },
  };
}

/** An image's mean color, as the rows of the words red, green and blue: a red image is near to texts about red. */
function imageEncoder(seed: number, output: string): Graph {
  const colors = ["red", "green", "blue"].flatMap((word) => {
    const at = vocabulary.indexOf(word) * smallDimension;
    return [...rows(seed).subarray(at, at + smallDimension)];
  });
  return {
    inputs: [{ name: "pixel_values", type: float, shape: ["batch", 3, imageSize, imageSize] }],
    outputs: [{ name: output, type: float, shape: ["batch", smallDimension] }],
    nodes: [
      sum("pixel_values", "plane", "color", 0),
      { type: "MatMul", inputs: ["color", "colors"], output },
    ],
    constants: {
      plane: [BigInt64Array.of(2n, 3n), [2]],
      colors: [Float32Array.from(colors), [3, smallDimension]],
    },
  };
}

/** Over the axes that the constant of that name has. */
function sum(input: string, axes: string, output: string, keepdims: number): Node {
  return { type: "ReduceSum", inputs: [input, axes], output, attributes: { keepdims } };
}

/** The squared norm of the sum of all rows: the more words query and document share, the larger. */
function crossEncoder(seed: number): Graph {
  return {
    inputs,
    outputs: [{ name: "logits", type: float, shape: ["batch", 1] }],
    nodes: [
      { type: "Gather", inputs: ["rows", "input_ids"], output: "tokens" },
      sum("tokens", "one", "total", 0),
      { type: "Mul", inputs: ["total", "total"], output: "squares" },
      sum("squares", "one", "norm", 1),
      { type: "Mul", inputs: ["norm", "scale"], output: "logits" },
    ],
    constants: {
      rows: [rows(seed), [vocabulary.length, smallDimension]],
      one: [BigInt64Array.of(1n), [1]],
      scale: [Float32Array.of(0.001), [1]],
    },
  };
}

function rows(seed: number): Float32Array {
  let state = seed;
  return Float32Array.from({ length: vocabulary.length * smallDimension }, (_, i) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    // Padding and the tokens around a text say nothing.
    return i < 5 * smallDimension ? 0 : (state >>> 8) / 2 ** 23 - 1;
  });
}
