/** A build is left out only if everything is as the last one left it. */

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { newFolder } from "./folder.js";

const { buildIfChanged } = (await import("../scripts/build-if-changed.mjs" as string)) as {
  buildIfChanged(
    paths: { root: string; inputs: readonly string[]; outputs: readonly string[] },
    build: () => Promise<void>,
  ): Promise<boolean>;
};

/** A project whose build copies `src/a.ts` and `src/b.ts` to `dist`, and writes `src/made.ts`. */
async function newProject() {
  const root = await newFolder();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "");
  write("src/a.ts", "a");
  write("package.json", "{}");
  const copy = async () => {
    for (const name of ["a", "b"]) write(`dist/${name}.js`, read(`src/${name}.ts`));
    write("src/made.ts", read("src/a.ts"));
  };
  const paths = {
    root,
    inputs: ["src", "package.json", "absent.json"],
    outputs: ["dist", "src/made.ts"],
  };
  const build = (work = copy) => buildIfChanged(paths, work);
  return { root, write, read, copy, build };
}

test("a second build is left out", async () => {
  const { build } = await newProject();
  expect([await build(), await build(), await build()]).toEqual([true, false, false]);
});

type Project = Awaited<ReturnType<typeof newProject>>;

const changes: Record<string, (project: Project) => void> = {
  "a changed input, of the same size and time": ({ root, write }) => {
    const past = new Date("2026-01-01");
    write("src/a.ts", "c");
    utimesSync(join(root, "src/a.ts"), past, past);
  },
  "a new input": ({ write }) => write("src/b.ts", "b"),
  "an input that was absent": ({ write }) => write("absent.json", "{}"),
  "a deleted input": ({ root }) => rmSync(join(root, "package.json")),
  "a renamed input": ({ root, write }) => {
    rmSync(join(root, "src/a.ts"));
    write("src/c.ts", "a");
  },
  "a changed output": ({ write }) => write("dist/a.js", "other"),
  "an output among the inputs that changed": ({ write }) => write("src/made.ts", "other"),
  "a deleted output": ({ root }) => rmSync(join(root, "dist/b.js")),
  "an output of something else": ({ write }) => write("dist/c.js", ""),
  "packages that are installed again": ({ root }) => rmSync(join(root, "node_modules"), { recursive: true }),
};

test.each(Object.entries(changes))("%s leads to another build", async (_, change) => {
  const project = await newProject();
  await project.build();
  change(project);
  expect([await project.build(), await project.build()]).toEqual([true, false]);
});

test("a build that failed runs again, though its inputs and outputs are those of one before", async () => {
  const { build, write } = await newProject();
  const fail = () => Promise.reject(new Error("it failed"));
  await build();
  write("src/a.ts", "changed");
  await expect(build(fail)).rejects.toThrow("it failed");
  write("src/a.ts", "a");
  expect([await build(), await build()]).toEqual([true, false]);
});

test("an input that changed during a build, and back again, leads to another build", async () => {
  const { root, build, copy, write } = await newProject();
  const changedAt = (path: string) => statSync(join(root, path), { bigint: true }).ctimeNs;
  await build(async () => {
    write("src/a.ts", "changed");
    await copy();
    // A file system's clock may tick slowly.
    do write("clock", "");
    while (changedAt("clock") === changedAt("package.json"));
    write("src/a.ts", "a");
  });
  expect([await build(), await build()]).toEqual([true, false]);
});

test("two builds at once leave no record of what they overwrote of one another", async () => {
  const { build, copy, write, read } = await newProject();
  await build(async () => {
    await build(copy);
    write("dist/a.js", "overwritten");
  });
  expect(await build()).toBe(true);
  expect(read("dist/a.js")).toBe("a");
});
