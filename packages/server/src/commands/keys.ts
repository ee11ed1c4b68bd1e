/** `sealdex-server keys create|list|revoke`. `create` prints only the key to standard output. */

import type { Command } from "commander";
import { Option } from "commander";
import { openLocation } from "sealdex/core";
import { invalid } from "sealdex/wire";
import { AuditLog } from "../audit/audit-log.js";
import { isScope, type Scope, scopes } from "../access/caller.js";
import type { KeyDetails, KeyRecord } from "../access/key-record.js";
import { KeyStore } from "../access/key-store.js";
import { asciiJson } from "../settings/log-output.js";
import type { ReadSettings, Settings } from "../settings/settings.js";
import { parseExpiry } from "./expiry.js";

interface AuditedKey {
  readonly action: string;
  readonly key: string;
}

type Work = (store: KeyStore) => Promise<AuditedKey | undefined>;

interface CreateOptions {
  readonly name: string;
  readonly scope: readonly Scope[];
  readonly index?: readonly string[];
  readonly expires?: string;
}

export function addKeysCommand(program: Command, read: ReadSettings): void {
  const withStore = (work: Work) => runWithStore(read(), work, false);
  const audited = (work: Work) => runWithStore(read(), work, true);
  const keys = program
    .command("keys")
    .description("Issue, list and revoke API keys. Needs SEALDEX_ROOT_KEY and the locations of the service.");

  keys
    .command("create")
    .description("Issue an API key and print it. It cannot be shown again.")
    .requiredOption("--name <text>", "its name in lists and logs")
    .addOption(
      new Option("--scope <scope...>", "its permissions; admin includes the others")
        .choices(scopes)
        .makeOptionMandatory(),
    )
    .option("--index <name...>", "the only indexes it may be used for (default: all)")
    .option("--expires <when>", "a duration (12h, 90d) or a date (2027-12-31)")
    .action((options: CreateOptions) => audited((store) => create(store, options)));

  keys
    .command("list")
    .description("List the API keys that were issued, in the order of their ids, one JSON object per line.")
    .action(() => withStore(list));

  keys
    .command("revoke <id>")
    .description("Revoke an API key. Every process of the service refuses it after at most 10 seconds.")
    .action((id: string) => audited((store) => revoke(store, id)));
}

/** Runs a command. An audited one needs the audit log, if there is one, and records in it the key that it created or revoked. */
async function runWithStore(settings: Settings, work: Work, isAudited: boolean): Promise<void> {
  const { rootKey, configLocation, indexLocation, auditFolder } = settings;
  if (rootKey === undefined) {
    throw invalid("SEALDEX_ROOT_KEY: expected the root key of the service, which authenticates API keys");
  }
  const location = configLocation ?? indexLocation;
  if (location.location === "memory") {
    throw invalid("the configuration location is memory:, which other processes cannot read");
  }
  const store = openLocation(location);
  try {
    const audit =
      isAudited && auditFolder !== undefined
        ? await AuditLog.open({ folder: auditFolder, rootKey, store })
        : undefined;
    try {
      const done = await work(new KeyStore(store, rootKey));
      if (done !== undefined) audit?.add({ at: new Date().toISOString(), caller: "command line", ...done });
    } finally {
      await audit?.close();
    }
  } finally {
    await store.close();
  }
}

async function create(store: KeyStore, options: CreateOptions): Promise<AuditedKey> {
  const { name, scope, index, expires } = options;
  const details: KeyDetails = {
    name,
    scopes: scope.filter(isScope),
    ...(index !== undefined && { indexes: index }),
    ...(expires !== undefined && { expiresAt: parseExpiry(expires, store.now()) }),
  };
  const { apiKey, record } = await store.create(details);
  process.stdout.write(`${apiKey}\n`);
  process.stderr.write(`id ${record.id}\n`);
  return { action: "keys create", key: record.id };
}

async function revoke(store: KeyStore, id: string): Promise<AuditedKey> {
  await store.revoke(id);
  return { action: "keys revoke", key: id };
}

async function list(store: KeyStore): Promise<undefined> {
  for await (const { records, unknown } of store.pages()) {
    const lastUses = await store.lastUses.list(records.map(({ id }) => id));
    for (const record of records) {
      process.stdout.write(`${asciiJson(JSON.stringify(shown(record, lastUses.get(record.id))))}\n`);
    }
    for (const id of unknown) {
      process.stderr.write(
        `${id}: not accepted; its record was created with another root key, or was modified\n`,
      );
    }
  }
}

function shown(
  { id, name, scopes: granted, indexes, createdAt, expiresAt }: KeyRecord,
  lastUsedAt: number | undefined,
) {
  const date = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());
  return {
    id,
    name,
    scopes: granted,
    indexes,
    created: date(createdAt),
    expires: date(expiresAt),
    lastUsed: date(lastUsedAt),
  };
}
