/** The manifests of the packages, and the packages that `npm ci` installs. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Locked {
  readonly dev?: boolean;
  readonly license?: string;
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folders = [".", "packages/model", "packages/server", "packages/langchain-sealdex"];
const manifests = folders.map(
  (folder) => JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Manifest,
);
const [library, model, server, langchain] = manifests;

test("all packages have one version, and name each other by it", () => {
  const { version } = library;
  expect(new Set(manifests.map((manifest) => manifest.version))).toEqual(new Set([version]));
  const { sealdex, "sealdex-model": ofServer } = server.dependencies ?? {};
  expect([sealdex, ofServer]).toEqual([version, version]);
  expect(langchain.dependencies).toEqual({ sealdex: version });
});

test("the library depends on its model alone, which may be left out; the model on nothing", () => {
  expect(library.dependencies).toBeUndefined();
  expect(library.optionalDependencies).toEqual({ [model.name]: library.version });
  expect(model.dependencies).toBeUndefined();
});

/** Whether one of the alternatives of a range allows this major version. */
function allows(range: string, wanted: number): boolean {
  return range.split("||").some((alternative) => {
    const [, operator = "", major] = /^\s*(>=?|\^|~|=)?\s*v?(\d+)/.exec(alternative) ?? [];
    if (major === undefined) return alternative.trim() === "*";
    return operator.startsWith(">") ? Number(major) <= wanted : Number(major) === wanted;
  });
}

const integrations = ["packages/ai", "packages/mastra", "packages/mcp", "packages/migrate"];

test.each(integrations)(
  "%s is released with the others, and its lock file has licenses that permit it",
  (folder) => {
    const read = (file: string) => readFileSync(join(root, folder, file), "utf8");
    const { version, peerDependencies = {}, engines } = JSON.parse(read("package.json")) as Manifest;
    expect([version, peerDependencies.sealdex]).toEqual([library.version, library.version]);
    expect(engines?.node).toBe(">=22");
    const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, Locked> };
    const permissive = /^\(?(MIT|ISC|BSD-[23]-Clause|0BSD|Apache-2\.0|BlueOak-1\.0\.0|Unlicense|CC0-1\.0)\b/;
    const others = Object.entries(packages).filter(
      ([, { dev = false, license = "" }]) => !dev && !permissive.test(license),
    );
    expect(others).toEqual([]);
  },
);

test("npm ci warns of no package on the oldest Node that is supported", () => {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, Manifest>;
  };
  const oldest = Number(/\d+/.exec(library.engines?.node ?? "")?.[0]);
  expect(oldest).toBe(20);
  const others = Object.entries(packages).filter(([, { engines }]) => !allows(engines?.node ?? "*", oldest));
  expect(others.map(([path]) => path)).toEqual([]);
});

test("a release has addresses from one file, which is empty or has them all", () => {
  const published = JSON.parse(readFileSync(join(root, "scripts", "published.json"), "utf8")) as object;
  expect(Object.keys(published)).toEqual(["repository", "author"]);
  expect(new Set(Object.values(published).map((value) => value === "")).size).toBe(1);
  for (const manifest of manifests) {
    for (const name of ["repository", "homepage", "bugs", "author"])
      expect(manifest).not.toHaveProperty(name);
  }
});

test("packing for a release fails while the addresses are empty", async () => {
  const { readPublished } = (await import("../scripts/stage-package.mjs" as string)) as {
    readPublished(file: string): unknown;
  };
  const folder = mkdtempSync(join(tmpdir(), "sealdex-published-"));
  const file = join(folder, "published.json");
  writeFileSync(file, '{ "repository": "", "author": "A" }');
  expect(() => readPublished(file)).toThrow("repository is empty");
  writeFileSync(file, '{ "repository": "https://example.com/a", "author": "A" }');
  expect(readPublished(file)).toEqual({ repository: "https://example.com/a", author: "A" });
  rmSync(folder, { recursive: true });
});
