/** The groups of items of an embedded index: see api/item-groups.ts. */

import { compileFilter } from "../api/filter/compile.js";
import type { GroupErasure, GroupSecret, GroupUpsert, ItemGroups } from "../api/item-groups.js";
import type { Item } from "../api/vector-index.js";
import type { Calls } from "../async/calls.js";
import { GroupSecrets } from "../state/commit/group-secrets.js";
import { erasuresOf } from "../state/commit/manifest.js";
import { deleteSelected } from "./delete.js";
import { type OpenIndex, restrictToNamespace } from "./open/open-index.js";
import { upsertItems } from "./upsert-items.js";

const unconditional = {
  deleteFilter: undefined,
  within: undefined,
  skipUnchanged: false,
  embedder: undefined,
  signal: undefined,
};

export class IndexGroups implements ItemGroups {
  readonly #index: OpenIndex;
  readonly #calls: Calls;
  readonly #secrets: GroupSecrets;

  constructor(index: OpenIndex, calls: Calls) {
    this.#index = index;
    this.#calls = calls;
    this.#secrets = new GroupSecrets(index.log.store, index);
  }

  erasures(): Promise<number> {
    return this.#calls.read(undefined, async () => erasuresOf(await this.#index.log.knownOrNewest()));
  }

  async refresh(): Promise<void> {
    await this.#calls.read(undefined, () => this.#index.log.newest());
  }

  draw(): GroupSecret {
    this.#index.keys.check("read-write", this.#index.indexName);
    return this.#secrets.draw();
  }

  read(id: string): Promise<GroupSecret | undefined> {
    return this.#calls.read(undefined, async () => {
      const secret = await this.#secrets.read(id);
      if (secret === undefined) await this.#index.log.newest();
      return secret;
    });
  }

  async upsert(
    items: readonly Item[],
    { namespace, secret: { stored }, erasures }: GroupUpsert,
  ): Promise<boolean> {
    const index = restrictToNamespace(this.#index, namespace);
    let result = false;
    await this.#write(async () => {
      result = (await upsertItems(index, items, unconditional, { stored, erasures })).stored > 0;
    });
    return result;
  }

  async erase({ namespace, filter, marker, secrets }: GroupErasure): Promise<void> {
    const index = restrictToNamespace(this.#index, namespace);
    const deleteFilter = compileFilter(filter);
    await this.#write(async () => {
      await upsertItems(index, [marker], { ...unconditional, deleteFilter, erases: true });
      await this.#secrets.destroy(secrets);
      await deleteSelected(index, { ids: [marker.id] }, undefined);
    });
  }

  /** Runs a change of items. */
  async #write(work: () => Promise<void>): Promise<void> {
    const { keys, maintenance, indexName } = this.#index;
    keys.check("read-write", indexName);
    await this.#calls.write(undefined, () => maintenance.duringWrite(work));
  }
}
