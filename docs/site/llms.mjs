// The site for programs: the Markdown of each page beside it, and llms.txt, which lists the pages of the sidebar.

import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The first sentences of a page, up to 200 characters but at least one, without the syntax of links. */
function summaryOf(markdown) {
  const paragraph = markdown.split(/\n{2,}/).find((text) => /^(?!```)[\w`*[]/.test(text)) ?? "";
  const plain = paragraph.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/\s+/g, " ");
  const [first, ...others] = plain.split(/(?<=[.:]) /);
  let summary = first;
  for (const sentence of others) {
    if (summary.length + sentence.length >= 200) break;
    summary += ` ${sentence}`;
  }
  return summary.replace(/:$/, ".");
}

/** Runs at the end of a build. */
export function writeForPrograms({ srcDir, outDir, pages, site }) {
  for (const page of pages) cpSync(join(srcDir, page), join(outDir, page));
  const line = ({ text, link }) => {
    const path = `${link.replace(/\/$/, "/index")}.md`;
    return `- [${text}](${path}): ${summaryOf(readFileSync(join(srcDir, path), "utf8"))}`;
  };
  const groups = site.themeConfig.sidebar.map(
    ({ text, items }) => `## ${text}\n\n${items.map(line).join("\n")}\n`,
  );
  writeFileSync(
    join(outDir, "llms.txt"),
    [`# ${site.title}\n\n> ${site.description}\n`, ...groups].join("\n"),
  );
}
