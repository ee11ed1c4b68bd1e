// The README's table of documentation is the list of the guides: its topics are the groups of the sidebar.

import { readdirSync, readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const readme = readFileSync(new URL("README.md", root), "utf8");
const [, table = ""] = /\n## Documentation\n([^#]*)/.exec(readme) ?? [];

/** Groups of pages, each page with the path of its file in the repository. */
export const guides = [...table.matchAll(/^\| ([^|]+) \| (\[.+) \|$/gm)].map(([, topic, links]) => ({
  topic,
  pages: [...links.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, text, path]) => ({ text, path })),
}));
guides[0]?.pages.unshift({ text: "Overview", path: "README.md" });

const listed = new Set(guides.flatMap(({ pages }) => pages.map(({ path }) => path)));
const unlisted = readdirSync(new URL("docs/", root))
  .filter((name) => name.endsWith(".md"))
  .filter((name) => !listed.has(`docs/${name}`));
if (unlisted.length > 0)
  throw new Error(`README.md's table of documentation lacks docs/${unlisted.join(", docs/")}`);

export const decisions = readdirSync(new URL("docs/internals/decisions/", root)).map((name) =>
  name.replace(".md", ""),
);
