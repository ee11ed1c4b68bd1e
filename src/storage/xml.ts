/**
 * Parses the XML of object services: elements and text only. Document types, processing
 * instructions, CDATA, entities beyond XML's five and numeric ones, and malformed XML are refused,
 * so that nothing can refer to anything.
 */

export interface XmlElement {
  readonly name: string;
  /** All text directly within it. */
  readonly text: string;
  readonly children: readonly XmlElement[];
}

interface OpenElement {
  readonly name: string;
  text: string;
  readonly children: XmlElement[];
}

const depthMax = 16;
const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const tagPattern =
  /<(?:(\/)([A-Za-z_][\w.:-]*)\s*|([A-Za-z_][\w.:-]*)((?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?))>/y;

/** Returns the root element. Throws a SyntaxError that repeats nothing of the text. */
export function parseXml(text: string): XmlElement {
  const document: OpenElement = { name: "", text: "", children: [] };
  const open = [document];
  let at = /^\uFEFF?(?:<\?xml[^<>?]*\?>)?/.exec(text)?.[0].length ?? 0;
  while (at < text.length) {
    const element = open[open.length - 1];
    const next = text.indexOf("<", at);
    element.text += decodeText(text.slice(at, next === -1 ? text.length : next));
    if (next === -1) break;
    tagPattern.lastIndex = next;
    const tag = tagPattern.exec(text);
    if (tag === null) throw new SyntaxError(`XML: expected a tag at ${next}`);
    const [whole, isEnd, endName, name, , isEmpty] = tag;
    at = next + whole.length;
    if (isEnd !== undefined) {
      if (open.length === 1 || element.name !== endName) {
        throw new SyntaxError(`XML: expected the end of another element at ${next}`);
      }
      open.pop();
      continue;
    }
    if (open.length === 1 && document.children.length > 0) {
      throw new SyntaxError("XML: expected one root element, got a second one");
    }
    const child: OpenElement = { name, text: "", children: [] };
    element.children.push(child);
    if (isEmpty === "") open.push(child);
    if (open.length > depthMax) throw new SyntaxError(`XML: expected at most ${depthMax} levels`);
  }
  if (open.length > 1) throw new SyntaxError("XML: expected the end of an element, got the end of the text");
  if (document.children.length === 0) throw new SyntaxError("XML: expected a root element");
  if (document.text.trim() !== "") throw new SyntaxError("XML: expected no text next to the root element");
  return document.children[0];
}

/** The text of the first child with this name; undefined if there is none. */
export function childText(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

function decodeText(text: string): string {
  return text.replace(/&([^;&]{0,12};)?/g, (_, reference: string | undefined) => {
    const name = reference?.slice(0, -1) ?? "";
    if (Object.hasOwn(entities, name)) return entities[name];
    const [, decimal, hexadecimal] = /^#(?:(\d{1,7})|x([\dA-Fa-f]{1,6}))$/.exec(name) ?? [];
    const code = decimal === undefined ? Number.parseInt(hexadecimal ?? "", 16) : Number(decimal);
    if (!(code > 0 && code <= 0x10ffff) || (code >= 0xd800 && code <= 0xdfff)) {
      throw new SyntaxError("XML: expected a character reference or one of the five entities");
    }
    return String.fromCodePoint(code);
  });
}
