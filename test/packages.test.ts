/** The manifests of the three packages: one version, and nothing to install that is not optional. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folders = [".", "packages/model", "packages/server"];
const manifests = folders.map(
  (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest,
);
const [library, model, server] = manifests;

test("all packages have one version, and name each other by it", () => {
  const { version } = library;
  expect(manifests.map((manifest) => manifest.version)).toEqual([version, version, version]);
  const { sealdex, "sealdex-model": ofServer } = server.dependencies ?? {};
  expect([sealdex, ofServer]).toEqual([version, version]);
});

test("the library depends on its model alone, which may be left out; the model on nothing", () => {
  expect(library.dependencies).toBeUndefined();
  expect(library.optionalDependencies).toEqual({ [model.name]: library.version });
  expect(model.dependencies).toBeUndefined();
});
