/**
 * A user's program compiles, and wrong ones do not, with each TypeScript that users have: 7, and 5.9 and 6, which are installed
 * under aliases. Where `CI=true`, all must be.
 */

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const compilers = ["typescript", "typescript-6", "typescript-5.9"]
  .map((name) => join(root, "node_modules", name))
  .filter((folder) => process.env.CI === "true" || existsSync(folder));

const options =
  "--noEmit --strict --module nodenext --target es2022 --lib es2023,dom --types node --skipLibCheck";

/** What the compiler says of a program that uses the built package. */
async function compile(compiler: string, major: number, program: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      join(compiler, "bin", "tsc"),
      ...options.split(" "),
      ...(major >= 6 ? ["--ignoreConfig"] : []),
      join("test", "types", program),
    ],
    { cwd: root },
  ).catch((error: unknown) => error as { stdout: string });
  return stdout;
}

function versionOf(compiler: string): string {
  return (JSON.parse(readFileSync(join(compiler, "package.json"), "utf8")) as { version: string }).version;
}

const programs = ["consumer.ts", "core.ts", "options.ts"];

test.each(
  compilers.flatMap((compiler) => programs.map((program) => [program, versionOf(compiler), compiler])),
)(
  "%s compiles with TypeScript %s",
  async (program, version, compiler) => {
    expect(await compile(compiler, Number.parseInt(version, 10), program)).toBe("");
  },
  180_000,
);
