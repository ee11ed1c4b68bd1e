/** Scopes of an open index: per namespace that is searched by itself, snapshots of its segments alone. */

import type { Clock } from "../../state/commit/clock.js";
import { type Manifest, namedObjects } from "../../state/commit/manifest.js";
import type { ManifestLog } from "../../state/commit/manifest-log.js";
import type { NamespaceSecrets } from "../../state/commit/namespaces.js";
import type { IndexConfig } from "../../engine/config.js";
import type { IndexCache } from "../../state/cache/index-cache.js";
import { OpenSnapshots, type SnapshotObjects } from "../../query/snapshot/open-snapshots.js";
import { Searcher } from "../../query/searcher.js";
import { Snapshots } from "../../query/snapshot/snapshots.js";
import { own } from "../../checks/value-kinds.js";

/** The parts that searches and reads use. */
export interface SearchTarget {
  readonly snapshots: Snapshots;
  readonly searcher: Searcher;
}

interface Scope {
  readonly open: OpenSnapshots;
  readonly target: SearchTarget;
}

/** The parts that all scopes of an index share. */
export interface ScopeResources {
  readonly log: ManifestLog;
  /** Of one namespace, or of all. */
  objectsOf(name: string | undefined): SnapshotObjects;
  readonly namespaces: NamespaceSecrets;
  readonly config: IndexConfig;
  readonly cache: IndexCache;
  readonly clock: Clock;
  readonly maxStalenessMs: number;
  /** Whether storage is kept from seeing which namespaces are read. */
  readonly oblivious: boolean;
}

/** Namespaces that stay open: those that were used last. */
const scopesMax = 4096;

export class NamespaceScopes {
  /** All namespaces, and the items in none. */
  readonly whole: SearchTarget;
  readonly #whole: Scope;
  readonly #resources: ScopeResources;
  /** By name; the one that was used last comes last. */
  readonly #scopes = new Map<string, Scope>();
  #newestVersion = 0;

  constructor(resources: ScopeResources) {
    this.#resources = resources;
    this.#whole = this.#open();
    this.whole = this.#whole.target;
  }

  /** One namespace alone: nothing of another is read. */
  of(name: string): SearchTarget {
    const scope = this.#scopes.get(name) ?? this.#open(name);
    this.#scopes.delete(name);
    this.#scopes.set(name, scope);
    if (this.#scopes.size > scopesMax) this.#closeOldest();
    return scope.target;
  }

  /** Of those that no call reads: objects that a call reads must not be deleted meanwhile. */
  #closeOldest(): void {
    for (const [name, { open }] of this.#scopes) {
      if (open.namesInUse().size > 0) continue;
      this.#scopes.delete(name);
      open.close();
      return;
    }
  }

  /** Closes objects that a newer manifest does not name, also if nothing has been read since: they may have been erased. */
  refresh(manifest: Manifest): void {
    if (manifest.version <= this.#newestVersion) return;
    this.#newestVersion = manifest.version;
    this.#resources.namespaces.forget(manifest);
    const named = namedObjects(manifest);
    for (const { open } of [this.#whole, ...this.#scopes.values()]) open.dropUnnamed(manifest.version, named);
  }

  /** The objects that readers of this process may read. */
  namesInUse(): ReadonlySet<string> {
    const scopes = [this.#whole, ...this.#scopes.values()];
    return new Set(scopes.flatMap(({ open }) => [...open.namesInUse()]));
  }

  /** With the whole index, all secrets and segments are read, whichever is wanted, and by the first call alone. */
  async #openWhole(manifest: Manifest): Promise<void> {
    const { open } = this.#whole;
    if (open.version === undefined || open.version < manifest.version) await open.at(manifest);
  }

  #open(name?: string): Scope {
    const { log, namespaces, config, cache, clock, maxStalenessMs, oblivious } = this.#resources;
    const onNewer = (manifest: Manifest) => this.refresh(manifest);
    const select = async (manifest: Manifest): Promise<Manifest> => {
      if (oblivious) await this.#openWhole(manifest);
      const id = name === undefined ? undefined : namespaces.idOf(name, manifest);
      const isOwn = ({ namespace }: { readonly namespace?: string }) => id !== undefined && namespace === id;
      return own({ ...manifest, segments: manifest.segments.filter(isOwn) });
    };
    const scope = { onNewer, ...(name !== undefined && { select }) };
    const open = new OpenSnapshots(this.#resources.objectsOf(name), clock, scope);
    const snapshots = new Snapshots(log, open, maxStalenessMs);
    return { open, target: { snapshots, searcher: new Searcher(config, cache) } };
  }
}
