// The passages of Markdown and text files.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";

const passageCharacters = 900;

/**
 * Every .md, .mdx, .rst and .txt file below the folder, but none in hidden folders or in
 * node_modules. Below a folder node_modules itself, the README of each package.
 */
export async function* textFiles(folder, inPackages = basename(folder) === "node_modules") {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      const isSkipped = entry.name.startsWith(".") || (entry.name === "node_modules" && !inPackages);
      if (!isSkipped) yield* textFiles(path, inPackages);
    } else if (entry.isFile() && (inPackages ? isReadme(path) : /\.(md|mdx|rst|txt)$/i.test(entry.name))) {
      yield path;
    }
  }
}

/** Whether the file is a README at the top of its package. */
function isReadme(path) {
  const inPackage = path
    .slice(path.lastIndexOf(`node_modules${sep}`))
    .split(sep)
    .slice(1);
  const depth = inPackage[0].startsWith("@") ? 3 : 2;
  return inPackage.length === depth && /^readme(\.md)?$/i.test(inPackage[depth - 1]);
}

/** A file's passages as documents: id, text under its headings, and where it stands. */
export async function passagesOf(path, folder) {
  const source = relative(folder, path).split(sep).join("/");
  const passages = [];
  const headings = [];
  let lines = [];
  let firstLine = 1;
  let fenced = false;

  const finish = (nextLine) => {
    const text = lines.join("\n").trim();
    if (/\p{L}{3}/u.test(text)) {
      const heading = headings.filter(Boolean).join(" > ");
      const pageContent = heading ? `${heading}\n\n${text}` : text;
      const id = createHash("sha256")
        .update(`${source}\n${firstLine}\n${pageContent}`)
        .digest("hex")
        .slice(0, 32);
      passages.push({ id, pageContent, metadata: { source, heading, line: firstLine } });
    }
    lines = [];
    firstLine = nextLine;
  };

  const all = (await readFile(path, "utf8")).split(/\r?\n/);
  all.forEach((line, i) => {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    const heading = fenced ? null : /^(#{1,6})\s+(.+?)\s*#*$/.exec(line);
    if (heading) {
      finish(i + 2);
      headings.length = heading[1].length - 1;
      headings[heading[1].length - 1] = heading[2]
        .replace(/<[^>]*>|[*_`]|!?\[([^\]]*)\]\([^)]*\)/g, "$1")
        .trim();
      return;
    }
    const length = lines.reduce((sum, kept) => sum + kept.length + 1, 0);
    const pause = !fenced && line.trim() === "";
    if (length > passageCharacters || (pause && length > passageCharacters / 2)) finish(i + 1);
    lines.push(line.slice(0, 4 * passageCharacters));
  });
  finish(all.length + 1);
  return passages;
}
