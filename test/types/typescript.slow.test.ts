/**
 * A user's program compiles, and wrong ones do not, with each TypeScript that users have: 7, and 5.4, 5.9 and 6, which are
 * installed under aliases. Where `CI=true`, all must be.
 */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const compilers = ["typescript", "typescript-6", "typescript-5.9", "typescript-5.4"]
  .map((name) => join(root, "node_modules", name))
  .filter((folder) => process.env.CI === "true" || existsSync(folder));

const options = "--noEmit --strict --target es2022 --lib es2023,dom --types node";
const modern = "--module nodenext --skipLibCheck";

/** What the compiler says of programs that use the built package. */
async function compile(compiler: string, programs: readonly string[], more = modern): Promise<string> {
  const major = Number.parseInt(versionOf(compiler), 10);
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      join(compiler, "bin", "tsc"),
      ...`${options} ${more}`.split(" "),
      ...(major >= 6 ? ["--ignoreConfig"] : []),
      ...programs.map((program) => join("test", "types", program)),
    ],
    { cwd: root },
  ).catch((error: unknown) => error as { stdout: string });
  return stdout;
}

function versionOf(compiler: string): string {
  return (JSON.parse(readFileSync(join(compiler, "package.json"), "utf8")) as { version: string }).version;
}

test.each(compilers.map((compiler) => [versionOf(compiler), compiler]))(
  "programs compile, and their declarations name whatever calls return, with TypeScript %s",
  async (_, compiler) => {
    const programs = ["consumer.ts", "core.ts", "options.ts", "declarations.ts"];
    expect(await compile(compiler, programs, `${modern} --declaration`)).toBe("");
  },
  180_000,
);

const before6 = compilers.filter((compiler) => versionOf(compiler).startsWith("5."));

test.each(before6.map((compiler) => [versionOf(compiler), compiler]))(
  "the declarations themselves compile with TypeScript %s, without skipLibCheck",
  async (_, compiler) => {
    expect(await compile(compiler, ["core.ts"], "--module nodenext")).toBe("");
  },
  180_000,
);

test.each(before6.map((compiler) => [versionOf(compiler), compiler]))(
  "every import resolves with TypeScript %s and the module resolution node10",
  async (_, compiler) => {
    const node10 = "--module commonjs --moduleResolution node10 --esModuleInterop --skipLibCheck";
    expect(await compile(compiler, ["imports.ts"], node10)).toBe("");
  },
  180_000,
);
