/** Splits a text into passages, at its headings and at empty lines. */

export interface Passage {
  /** The headings above it, which are searched with it. */
  readonly under: string;
  readonly text: string;
}

const charactersWanted = 900;
/** A text is split at its headings while it has at most this many passages, and one more per hundred characters. */
const passagesOfHeadings = 100;
const charactersPerPassage = 100;
const headingCharactersMax = 200;

export function splitIntoPassages(text: string): Passage[] {
  const passages: Passage[] = [];
  const headings: string[] = [];
  let lines: string[] = [];
  let length = 0;
  let under = "";
  let isFenced = false;
  let read = 0;

  const finish = () => {
    const joined = lines.join("\n").trim();
    if (joined !== "") passages.push({ under, text: joined });
    lines = [];
    length = 0;
    under = headings.filter(Boolean).join(" > ");
  };

  for (const line of text.split(/\r?\n/).flatMap(shortened)) {
    if (/^\s*(```|~~~)/.test(line)) isFenced = !isFenced;
    const [, level, title] = (!isFenced && /^(#{1,6})\s+(\S.*)$/.exec(line)) || [];
    const isPause = !isFenced && line.trim() === "";
    const isFull =
      length + line.length > charactersWanted * 1.5 || (isPause && length > charactersWanted / 2);
    const isDense = passages.length > passagesOfHeadings + read / charactersPerPassage;
    if (title !== undefined) headings.length = level.length - 1;
    if (isFull || (title !== undefined && !isDense)) finish();
    if (title !== undefined) headings[level.length - 1] = plain(title);
    lines.push(line);
    length += line.length + 1;
    read += line.length + 1;
  }
  finish();
  return passages;
}

/** Cuts a line that is longer than a passage, at a space if there is one. */
function shortened(line: string): string[] {
  const pieces: string[] = [];
  let rest = line;
  while (rest.length > charactersWanted) {
    const space = rest.lastIndexOf(" ", charactersWanted);
    // Never between the two halves of a character.
    const half = /[\uD800-\uDBFF]/.test(rest[charactersWanted - 1]) ? 1 : 0;
    const end = space > 0 ? space : charactersWanted - half;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return [...pieces, rest];
}

function plain(title: string): string {
  return title
    .slice(0, headingCharactersMax)
    .replace(/#+\s*$/, "")
    .replace(/<[^>]*>|[*_`]|!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toWellFormed();
}
