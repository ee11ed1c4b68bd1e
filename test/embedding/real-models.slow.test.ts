/** Real models give what their reference gives. They run only if the folder of reference-data.ts is there. */

import { existsSync, readFileSync } from "node:fs";
import { tokenIds } from "sealdex-model";
import { afterAll, expect, test } from "vitest";
import { Models } from "../../src/embedding/models.js";
import { modelFolder, reference } from "./reference-data.js";

const models = new Models({ localFolder: modelFolder, offline: true });
afterAll(() => models.close());

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const dot = (x: ArrayLike<number>, y: ArrayLike<number>) =>
    Array.from(x).reduce((sum, value, i) => sum + value * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** Of 256, two are marks. */
const minilmTokensMax = 254;

/** Every so many of the 200 texts; `SEALDEX_REFERENCE_TEXTS=all` takes them all. */
const step = process.env.SEALDEX_REFERENCE_TEXTS === "all" ? 1 : 10;

const present = ["all-MiniLM-L6-v2", "bge-small-en-v1.5"].filter((name) =>
  existsSync(reference(`${name}.f32`)),
);

test("reference models are looked for", () => {
  expect(present.length === 0 || present.length === 2).toBe(true);
});

for (const name of present) {
  test(`${name} in 8 bits agrees with its reference to a cosine of .997, MiniLM to .998 if it reads the whole text`, async () => {
    const texts = JSON.parse(readFileSync(reference("texts.json"), "utf8")) as string[];
    const bytes = readFileSync(reference(`${name}.f32`));
    const expected = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const width = expected.length / texts.length;
    const sample = [...texts.keys()].filter((i) => i % step === 0);
    const vectors = await models.embedder(name, "model").embedDocuments(sample.map((i) => texts[i]));
    const cosines = sample.map((i, at) => cosine(vectors[at], expected.subarray(i * width, (i + 1) * width)));
    expect(Math.min(...cosines)).toBeGreaterThan(0.997);
    if (name !== "all-MiniLM-L6-v2") return;
    const ofWholeTexts = cosines.filter((_, at) => tokenIds(texts[sample[at]]).length <= minilmTokensMax);
    expect(ofWholeTexts.length).toBeGreaterThan(0);
    expect(Math.min(...ofWholeTexts)).toBeGreaterThan(0.998);
  });
}
