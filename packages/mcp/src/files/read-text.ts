/** The text of a file, as Markdown if the file has headings. */

const readers: readonly (readonly [RegExp, (bytes: Uint8Array) => Promise<string> | string])[] = [
  [/\.(md|mdx|markdown|txt|text|rst|org|adoc)$/i, decode],
  [/\.(html|htm|xhtml)$/i, readHtml],
  [/\.pdf$/i, readPdf],
];

/** The rest of a longer text is left out. */
const charactersMax = 5_000_000;

export function isReadable(path: string): boolean {
  return readers.some(([name]) => name.test(path));
}

export async function readText(path: string, bytes: Uint8Array): Promise<string> {
  const [, read] = readers.find(([name]) => name.test(path)) ?? [];
  if (!read) throw new Error("not a kind of file that is read");
  return (await read(bytes)).slice(0, charactersMax).toWellFormed();
}

function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const isUtf16 = first === 0xff && second === 0xfe;
  return new TextDecoder(isUtf16 ? "utf-16le" : "utf-8").decode(bytes);
}

async function readHtml(bytes: Uint8Array): Promise<string> {
  const { convert } = await import("html-to-text");
  const heading = (level: number) => ({
    selector: `h${level}`,
    format: "markdownHeading",
    options: { level },
  });
  return convert(decode(bytes), {
    wordwrap: false,
    formatters: {
      markdownHeading(element, walk, builder, { level }) {
        builder.openBlock({ leadingLineBreaks: 2 });
        builder.addInline(`${"#".repeat(Number(level))} `);
        walk(element.children, builder);
        builder.closeBlock({ trailingLineBreaks: 2 });
      },
    },
    selectors: [
      ...[1, 2, 3, 4, 5, 6].map(heading),
      { selector: "a", options: { ignoreHref: true } },
      { selector: "img", format: "skip" },
      { selector: "nav", format: "skip" },
    ],
  });
}

async function readPdf(bytes: Uint8Array): Promise<string> {
  const { extractText, getDocumentProxy } = await import("unpdf");
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 });
  try {
    const { text } = await extractText(pdf, { mergePages: false });
    return text.map((page, i) => `## Page ${i + 1}\n\n${page}`).join("\n\n");
  } finally {
    await pdf.loadingTask.destroy();
  }
}
