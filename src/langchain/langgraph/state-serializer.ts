/**
 * State as JSON, restored as data. `JsonPlusSerializer` writes it. Its reader constructs whatever class of LangChain a stored object names,
 * with arguments that are stored too; here only messages and documents are, and the types of LangGraph's own records. Any other object is
 * returned as it is stored.
 */

import * as documents from "@langchain/core/documents";
import * as messages from "@langchain/core/messages";
import * as checkpoint from "@langchain/langgraph-checkpoint";

const wrapper = "__lc_escaped__";

type Fields = Record<string, unknown>;
type Class = new (fields: never) => unknown;

/** By the first two parts of their ids. */
const classes: Readonly<Record<string, Readonly<Record<string, Class>>>> = {
  "langchain_core/messages": {
    AIMessage: messages.AIMessage,
    AIMessageChunk: messages.AIMessageChunk,
    ChatMessage: messages.ChatMessage,
    ChatMessageChunk: messages.ChatMessageChunk,
    FunctionMessage: messages.FunctionMessage,
    FunctionMessageChunk: messages.FunctionMessageChunk,
    HumanMessage: messages.HumanMessage,
    HumanMessageChunk: messages.HumanMessageChunk,
    RemoveMessage: messages.RemoveMessage,
    SystemMessage: messages.SystemMessage,
    SystemMessageChunk: messages.SystemMessageChunk,
    ToolMessage: messages.ToolMessage,
    ToolMessageChunk: messages.ToolMessageChunk,
  },
  "langchain_core/documents": { Document: documents.Document },
};

/** Since 1.1 of the package, which is the first to store one. */
const { DeltaSnapshot } = checkpoint as Partial<typeof checkpoint>;

export class StateSerializer implements checkpoint.SerializerProtocol {
  readonly #writer: checkpoint.SerializerProtocol;

  /** `writer`: LangGraph's own serializer. */
  constructor(writer: checkpoint.SerializerProtocol) {
    this.#writer = writer;
  }

  dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    return this.#writer.dumpsTyped(value);
  }

  async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
    if (type !== "json") return this.#writer.loadsTyped(type, data) as Promise<unknown>;
    return revive(JSON.parse(typeof data === "string" ? data : Buffer.from(data).toString("utf8")));
  }
}

/** `isInside`: a message or a document, whose `toJSON` wraps objects that could be taken for records. */
function revive(value: unknown, isInside = false): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => revive(each, isInside));
  const { lc, type } = value as Fields;
  if (isInside && isWrapped(value)) return value[wrapper];
  const inside = isInside || (lc === 1 && type === "constructor");
  const fields: Fields = Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, revive(each, inside)]),
  );
  if (fields.lc === 1 && fields.type === "constructor") return reviveObject(fields) ?? fields;
  if (fields.lc !== 2) return fields;
  if (fields.type === "undefined") return undefined;
  if (fields.type === "delta_snapshot" && DeltaSnapshot !== undefined) return new DeltaSnapshot(fields.value);
  return fields.type === "constructor" ? (reviveBuiltIn(fields) ?? fields) : fields;
}

function isWrapped(value: object): value is { readonly [wrapper]: unknown } {
  return Object.hasOwn(value, wrapper) && Object.keys(value).length === 1;
}

/** A message or a document; undefined for any other class, and for fields that its constructor refuses. */
function reviveObject({ id, kwargs }: Fields): unknown {
  if (!Array.isArray(id) || typeof kwargs !== "object" || kwargs === null) return undefined;
  const kind = classes[id.slice(0, 2).join("/")];
  const name = String(id.at(-1));
  if (kind === undefined || !Object.hasOwn(kind, name)) return undefined;
  try {
    return new kind[name](kwargs as never);
  } catch {
    return undefined;
  }
}

/** A value of JavaScript that JSON lacks; undefined for any other. */
function reviveBuiltIn({ id, args }: Fields): unknown {
  if (!Array.isArray(id) || id.length !== 1 || !Array.isArray(args)) return undefined;
  const [first, second] = args as readonly unknown[];
  switch (id[0]) {
    case "Set":
      return Array.isArray(first) ? new Set(first) : undefined;
    case "Map":
      return isEntries(first) ? new Map(first) : undefined;
    case "Error":
      return typeof first === "string" ? new Error(first) : undefined;
    case "RegExp":
      return typeof first === "string" && typeof second === "string" ? toRegExp(first, second) : undefined;
    case "Uint8Array":
      return Array.isArray(first) && first.every(isByte) ? Uint8Array.from(first as number[]) : undefined;
    default:
      return undefined;
  }
}

function isEntries(value: unknown): value is [unknown, unknown][] {
  return Array.isArray(value) && value.every((each) => Array.isArray(each) && each.length === 2);
}

function isByte(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 255;
}

function toRegExp(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}
