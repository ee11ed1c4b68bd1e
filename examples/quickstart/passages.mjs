// Real text for the quickstart: Markdown and text files of a folder, cut into passages.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";

const passageCharacters = 900;
const skippedFolders = new Set([".git", ".sealdex", "dist", "coverage"]);

/** Every .md, .mdx, .rst and .txt file below the folder; of packages in node_modules only their READMEs. */
export async function* textFiles(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !skippedFolders.has(entry.name)) yield* textFiles(path);
    else if (entry.isFile() && isText(path, entry.name)) yield path;
  }
}

function isText(path, name) {
  if (!path.includes(`${sep}node_modules${sep}`)) return /\.(md|mdx|rst|txt)$/i.test(name);
  const inPackage = path.slice(path.lastIndexOf(`node_modules${sep}`) + "node_modules/".length);
  const depth = inPackage.startsWith("@") ? 3 : 2;
  return /^readme(\.md)?$/i.test(name) && inPackage.split(sep).length === depth;
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
