/** `EncryptedSaver`, a LangGraph checkpointer whose threads are encrypted, each under a secret of its own. */

import { inspect } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  copyCheckpoint,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import type { Client } from "../../api/vector-index.js";
import { checkText, invalid } from "../../checks/input.js";
import { hasOption } from "../../checks/option-names.js";
import { isBytes } from "../../checks/value-kinds.js";
import { SealdexError } from "../../errors.js";
import {
  type EncryptedVectorStoreArgs,
  refuseOptions,
  searchOptionNames,
  takeStoreOptions,
  type VectorStoreArgsWithout,
} from "../store-options.js";
import { StoreIndex } from "../store-index.js";
import { type CheckpointGroup, withoutLocations, SaverThreads } from "./saver-threads.js";
import {
  checkpointIdIn,
  checkpointItemId,
  checkpointsPrefix,
  type Contents,
  threadDigest,
  writeItemId,
} from "./saver-rows.js";
import { StateSerializer } from "./state-serializer.js";
import type { Value } from "./value-with-bytes.js";

const ofVectorStore = [...searchOptionNames, "namespace"] as const;

/** Locations and key of the saver, as for `EncryptedVectorStore`; a service keeps no secrets of threads. */
export type EncryptedSaverArgs = Exclude<
  VectorStoreArgsWithout<(typeof ofVectorStore)[number]>,
  { readonly baseUrl: string }
>;

/** Checkpoints that are read at a time on the way to the beginning of a thread. */
const ancestorsTogether = 32;

interface Address {
  /** A digest. */
  readonly thread: string;
  readonly threadId: string;
  readonly namespace: string;
}

/**
 * A checkpointer: `createAgent({ checkpointer: new EncryptedSaver({ … }) })`. Any number of processes may work on one thread. `deleteThread`
 * destroys the secret that the thread's checkpoints and writes need: no key opens them any more. State is restored as data, messages and
 * documents; no other class is constructed. With `serde`, the caller's serializer decides.
 */
export class EncryptedSaver extends BaseCheckpointSaver {
  readonly #index: StoreIndex;
  readonly #threads: SaverThreads;

  constructor(args: EncryptedSaverArgs, serde?: SerializerProtocol) {
    super(serde);
    if (serde === undefined) this.serde = new StateSerializer(this.serde);
    refuseOptions(args, ofVectorStore, "EncryptedSaver");
    const { client } = args as { readonly client?: Client };
    if (hasOption(args, "baseUrl") || client?.kind === "http") throw withoutLocations();
    this.#index = new StoreIndex(takeStoreOptions(args as EncryptedVectorStoreArgs));
    this.#threads = new SaverThreads(this.#index);
  }

  /** Opens the index, and creates it if there is none, as the first call does otherwise. */
  async setup(): Promise<void> {
    await this.#index.open();
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.thread_id === undefined) return undefined;
    const address = addressOf(config);
    const checkpointId = getCheckpointId(config);
    const id =
      checkpointId === "" ? undefined : checkpointItemId(address.thread, address.namespace, checkpointId);
    const prefix = id ?? checkpointsPrefix(address.thread, address.namespace);
    for await (const group of this.#threads.groups(prefix)) {
      if (id !== undefined && group.id !== id) return undefined;
      const tuple = await this.#tuple(group);
      if (tuple !== undefined) return id === undefined ? tuple : { ...tuple, config };
    }
    return undefined;
  }

  /** Thread by thread; of each namespace, the newest first. */
  override async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { before, limit = Infinity, filter = {} } = options;
    const { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: only } = config.configurable ?? {};
    const bound: unknown = before?.configurable?.checkpoint_id;
    const thread = threadId === undefined ? undefined : threadDigest(textOf(threadId, "thread_id"));
    const inNamespace = namespace === undefined ? undefined : textOf(namespace, "checkpoint_ns");
    let left = limit;
    for await (const group of this.#threads.groups(checkpointsPrefix(thread, inNamespace))) {
      if (left <= 0) return;
      const checkpointId = checkpointIdIn(group.id);
      if ((only ?? "") !== "" && only !== checkpointId) continue;
      if (typeof bound === "string" && bound !== "" && checkpointId >= bound) continue;
      const tuple = await this.#tuple(group, inNamespace, filter);
      if (tuple === undefined) continue;
      left--;
      yield tuple;
    }
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
  ): Promise<RunnableConfig> {
    const { thread, threadId, namespace } = addressOf(config);
    const parent: unknown = config.configurable?.checkpoint_id;
    const id = checkpointItemId(thread, namespace, checkpoint.id);
    const [state, about] = await Promise.all([
      this.serde.dumpsTyped(copyCheckpoint(checkpoint)),
      this.serde.dumpsTyped(metadata),
    ]);
    const types = [state[0], about[0]];
    const fields = { threadId, namespace, ...(parent !== undefined && { parent }), types };
    const bytes = { checkpoint: state[1], metadata: about[1] };
    await this.#threads.store(thread, new Map([[id, { fields, bytes }]]));
    return configOf(threadId, namespace, checkpoint.id);
  }

  /** Of two writes of a task at one position, the first counts, unless it is an error, an interrupt or the like. */
  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const { thread, namespace } = addressOf(config);
    const checkpointId: unknown = config.configurable?.checkpoint_id;
    if (checkpointId === undefined) throw missing("checkpoint_id");
    const checkpointItem = checkpointItemId(thread, namespace, textOf(checkpointId, "checkpoint_id"));
    const items = new Map<string, Contents>();
    const replaceable = new Set<string>();
    const values = await Promise.all(writes.map(([, value]) => this.serde.dumpsTyped(value)));
    for (const [i, [channel]] of writes.entries()) {
      const position = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : i;
      const id = writeItemId(checkpointItem, taskId, position);
      const [type, value] = values[i];
      items.set(id, { fields: { taskId, taskPath, position, channel, type }, bytes: { value } });
      if (position < 0) replaceable.add(id);
    }
    const known = await this.#threads.present([...items.keys()].filter((id) => !replaceable.has(id)));
    for (const id of known) items.delete(id);
    await this.#threads.store(thread, items);
  }

  /** As LangGraph's, which reads one ancestor after another; here many at a time. */
  override async getDeltaChannelHistory(
    options: Parameters<BaseCheckpointSaver["getDeltaChannelHistory"]>[0],
  ): ReturnType<BaseCheckpointSaver["getDeltaChannelHistory"]> {
    const ahead = new Map<string, CheckpointTuple>();
    const seen = new Set<string>();
    const getTuple = async (config: RunnableConfig) => {
      const checkpointId = getCheckpointId(config);
      if (checkpointId === "") return this.getTuple(config);
      // A checkpoint that was put again with its own config is its own ancestor.
      if (seen.has(checkpointId)) return undefined;
      seen.add(checkpointId);
      const { thread, namespace } = addressOf(config);
      if (!ahead.has(checkpointId)) {
        const groups: CheckpointGroup[] = [];
        const first = checkpointItemId(thread, namespace, checkpointId);
        for await (const group of this.#threads.groups(checkpointsPrefix(thread, namespace), first)) {
          if (groups.push(group) === ancestorsTogether) break;
        }
        // Those that were read before are of another branch.
        ahead.clear();
        const ids = groups.flatMap((group) => [group.id, ...group.writes]);
        const contents = await this.#threads.read(ids);
        for (const group of groups) {
          const tuple = await this.#toTuple(group, contents.splice(0, 1 + group.writes.length));
          if (tuple !== undefined) ahead.set(tuple.checkpoint.id, tuple);
        }
      }
      return ahead.get(checkpointId);
    };
    return super.getDeltaChannelHistory.call({ getTuple } as BaseCheckpointSaver, options);
  }

  /** Permanent: see the class. After an error, repeat the call. */
  override async deleteThread(threadId: string): Promise<void> {
    await this.#threads.delete(threadDigest(textOf(threadId, "thread_id")));
  }

  /** Closes the client unless the caller passed it. */
  async stop(): Promise<void> {
    await this.#index.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  [inspect.custom](): string {
    return `EncryptedSaver(${JSON.stringify(this.#index.indexName)})`;
  }

  async #tuple(
    group: CheckpointGroup,
    inNamespace?: string,
    filter?: Readonly<Record<string, unknown>>,
  ): Promise<CheckpointTuple | undefined> {
    const contents = await this.#threads.read([group.id, ...group.writes]);
    return this.#toTuple(group, contents, inNamespace, filter);
  }

  /** Undefined if the checkpoint is not stored, though writes of it are, or if it does not match. */
  async #toTuple(
    group: CheckpointGroup,
    [found, ...writes]: readonly (Value | undefined)[],
    inNamespace?: string,
    filter: Readonly<Record<string, unknown>> = {},
  ): Promise<CheckpointTuple | undefined> {
    if (found === undefined) return undefined;
    const { threadId, namespace, parent, types } = checkFields(found);
    if (inNamespace !== undefined && inNamespace !== namespace) return undefined;
    const metadata = (await this.serde.loadsTyped(
      types[1],
      found.metadata as Uint8Array,
    )) as CheckpointMetadata;
    const fields = metadata as Readonly<Record<string, unknown>>;
    if (!Object.entries(filter).every(([name, value]) => fields[name] === value)) return undefined;
    const checkpoint = (await this.serde.loadsTyped(types[0], found.checkpoint as Uint8Array)) as Checkpoint;
    if (checkpoint.v < 4 && parent !== undefined)
      await this.#addSends(checkpoint, threadId, namespace, parent);
    return {
      config: configOf(threadId, namespace, checkpointIdIn(group.id)),
      checkpoint,
      metadata,
      pendingWrites: await this.#pending(writes),
      ...(parent !== undefined && { parentConfig: configOf(threadId, namespace, parent) }),
    };
  }

  async #pending(writes: readonly (Value | undefined)[]): Promise<CheckpointPendingWrite[]> {
    const present = writes.flatMap((write) => (write === undefined ? [] : [checkWrite(write)]));
    return Promise.all(
      present
        .sort(inOrder)
        .map(async ({ taskId, channel, type, value }) => [
          taskId,
          channel,
          await this.serde.loadsTyped(type, value),
        ]),
    );
  }

  /** Checkpoints of older versions have the sends of the step before among the writes of their parents. */
  async #addSends(
    checkpoint: Checkpoint,
    threadId: string,
    namespace: string,
    parent: string,
  ): Promise<void> {
    const item = checkpointItemId(threadDigest(threadId), namespace, parent);
    const sends: unknown[] = [];
    for await (const group of this.#threads.groups(item)) {
      if (group.id !== item) break;
      const writes = await this.#pending(await this.#threads.read(group.writes));
      sends.push(...writes.filter(([, channel]) => channel === TASKS).map(([, , value]) => value));
      break;
    }
    checkpoint.channel_values ??= {};
    checkpoint.channel_versions ??= {};
    checkpoint.channel_values[TASKS] = sends;
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_versions[TASKS] =
      versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }
}

type CheckpointFields = Value & {
  readonly threadId: string;
  readonly namespace: string;
  readonly parent?: string;
  readonly types: readonly [string, string];
};
interface WriteFields extends Value {
  readonly taskId: string;
  readonly taskPath: string;
  readonly position: number;
  readonly channel: string;
  readonly type: string;
  readonly value: Uint8Array;
}

/** Throws `corrupt` for the contents of another item. */
function checkFields(found: Value): CheckpointFields {
  const { threadId, namespace, parent, types, checkpoint, metadata } = found;
  const texts = [threadId, namespace, parent ?? "", ...(Array.isArray(types) ? (types as unknown[]) : [])];
  const isOne = texts.length === 5 && texts.every((text) => typeof text === "string");
  if (isOne && isBytes(checkpoint) && isBytes(metadata)) return found as CheckpointFields;
  throw new SealdexError("corrupt", "EncryptedSaver: an item is no checkpoint");
}

function checkWrite(found: Value): WriteFields {
  const { taskId, taskPath, channel, type, position, value } = found;
  const hasTexts = [taskId, taskPath, channel, type].every((text) => typeof text === "string");
  if (hasTexts && Number.isInteger(position) && isBytes(value)) return found as WriteFields;
  throw new SealdexError("corrupt", "EncryptedSaver: an item is no write");
}

/** The order in which LangGraph applies the writes of a step: by path, by task, by position. */
function inOrder(a: WriteFields, b: WriteFields): number {
  return byCodePoints(a.taskPath, b.taskPath) || byCodePoints(a.taskId, b.taskId) || a.position - b.position;
}

function byCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"));
}

function addressOf({ configurable }: RunnableConfig): Address {
  if (configurable?.thread_id === undefined) throw missing("thread_id");
  const threadId = textOf(configurable.thread_id, "thread_id");
  const namespace = textOf(configurable.checkpoint_ns ?? "", "checkpoint_ns");
  return { thread: threadDigest(threadId), threadId, namespace };
}

function configOf(threadId: string, namespace: string, checkpointId: string): RunnableConfig {
  return { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId } };
}

function textOf(value: unknown, name: string): string {
  checkText(value, name);
  if (value === "" && name !== "checkpoint_ns") throw invalid(`${name}: expected a text, got an empty one`);
  return value;
}

function missing(name: "thread_id" | "checkpoint_id") {
  return invalid(`config: expected "${name}" in configurable, as in { configurable: { ${name}: "…" } }`);
}
