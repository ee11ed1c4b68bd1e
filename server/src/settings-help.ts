/** What `serve --help` says of the settings. The README has the same table. */

import { limitSettings } from "./limit-settings.js";
import { defaultLimits, type Limits } from "./limits.js";

interface Variable {
  readonly name: string;
  readonly byDefault: string;
  /** In Markdown. */
  readonly meaning: string;
}

const variable = (name: string, byDefault: string, meaning: string): Variable => ({
  name,
  byDefault,
  meaning,
});

/** All variables, in the order of the README. */
export const variables: readonly Variable[] = [
  variable(
    "SEALDEX_ROOT_KEY",
    "none, required unless `SEALDEX_API_KEYS` is set",
    "Issues API keys and authenticates their records; clients may send it in `X-API-Key` for everything. At least 32 characters.",
  ),
  variable(
    "SEALDEX_API_KEYS",
    "none",
    "Further keys that clients may send for everything, separated by commas, each of at least 16 characters.",
  ),
  variable("SEALDEX_AUDIT_FOLDER", "none", "Where an audit log is written; needs `SEALDEX_ROOT_KEY`."),
  variable("SEALDEX_DASHBOARD", "`on`", "`off`: there is no dashboard at `/admin`."),
  variable(
    "SEALDEX_TRUST_PROXY",
    "none",
    "Addresses or networks of the proxies whose `X-Forwarded-For` names the client, separated by commas.",
  ),
  variable("SEALDEX_INDEX_LOCATION", "none, required", "Where vectors are stored."),
  variable(
    "SEALDEX_CONFIG_LOCATION",
    "the index location",
    "Where names, sealed keys and manifests are stored.",
  ),
  variable(
    "SEALDEX_ANCHOR_LOCATION",
    "none",
    "Where the newest state of each index is anchored, so that a rollback of the other locations is detected: one that their operators do not control.",
  ),
  variable(
    "SEALDEX_INDEX_KEY",
    "none: every request carries a key",
    "Which key provider keeps the keys of indexes, so that requests need no `index_key`: `file:./index.key`, `passphrase-file:./passphrase`, `aws-kms:<key ARN>` (needs `npm install @aws-sdk/client-kms`), `google-kms:projects/…/cryptoKeys/<key>` as the service account of the machine or of the key file in `GOOGLE_APPLICATION_CREDENTIALS`, or `vault:https://<host>/<mount>/<key>` with the token in `VAULT_TOKEN`, or in the file `VAULT_TOKEN_FILE`, which is read with each use. Everyone with an API key for such an index then opens it.",
  ),
  variable(
    "SEALDEX_MAX_STALENESS_MS",
    "0",
    "How old what is read may be: within that time after a look, no read asks the storage whether other processes have written. What a process itself wrote is always seen.",
  ),
  variable(
    "SEALDEX_RETENTION_MS",
    "900000",
    "How long what training and compaction replaced is kept for readers in other processes, and for cursors, at most 900000. 0: an index takes no more than its live size, if this process alone reads it.",
  ),
  variable(
    "SEALDEX_OBLIVIOUS",
    "`off`",
    "`on`: indexes are read as a whole and kept in memory as ciphertext, so that the storage does not see which items are looked for. An index larger than a quarter of the memory, at most 2 GiB, is answered 413.",
  ),
  variable(
    "SEALDEX_STORAGE_TIMEOUT_MS",
    "15000",
    "How long a read or write of storage may take, with its retries, in milliseconds. A request that needs it longer is answered 503. Large ones have a second more for each MiB.",
  ),
  variable(
    "SEALDEX_AUTOMATIC_TRAINING",
    "`on`",
    "`off`: indexes are trained only when a request asks for it.",
  ),
  variable(
    "SEALDEX_MODELS",
    "none",
    "Embedding models that indexes may use besides the built-in ones, separated by commas, such as `all-MiniLM-L6-v2`. Needs `npm install @huggingface/transformers`.",
  ),
  variable("SEALDEX_MODEL_FOLDER", "none", "A folder that holds models, each in a folder of its name."),
  variable("SEALDEX_MODEL_CACHE", "`~/.cache/sealdex/models`", "Where downloaded models are kept."),
  variable("SEALDEX_MODEL_DOWNLOADS", "`on`", "`off`: no model is downloaded."),
  variable(
    "SEALDEX_HOST",
    "`127.0.0.1`",
    "Address to listen on. Any other needs `SEALDEX_TLS_CERT_FILE`, or a proxy with TLS before it, since keys travel in requests; without, the service logs a warning.",
  ),
  variable(
    "SEALDEX_TLS_CERT_FILE",
    "none: HTTP without TLS",
    "A PEM file with the certificate of the service, followed by those that lead to its authority. A renewed one needs a restart.",
  ),
  variable("SEALDEX_TLS_KEY_FILE", "none", "A PEM file with the key of the certificate."),
  variable(
    "SEALDEX_TLS_CLIENT_CA_FILE",
    "none",
    "A PEM file with the authorities of client certificates; connections without such a certificate are then refused.",
  ),
  variable(
    "SEALDEX_CONFIG",
    "none",
    "A YAML file with settings, as is `--config`: `index_location` in it is `SEALDEX_INDEX_LOCATION`. The environment wins.",
  ),
  variable("SEALDEX_PORT", "`8000`", "0 lets the system choose."),
  variable(
    "SEALDEX_PROCESSES",
    "`1`",
    "How many processes serve the port, on one machine: about as many as it has cores. They share limits per minute, revocations and metrics; other limits are of each process.",
  ),
  ...Object.entries(limitSettings).map(([limit, { name, meaning, byDefault }]) =>
    variable(name, byDefault ?? defaultText(defaultLimits[limit as keyof Limits]), meaning),
  ),
];

function defaultText(value: number): string {
  return value === Infinity ? "none" : `\`${value}\``;
}

/** One paragraph per variable. */
export function settingsHelp(): string {
  const paragraphs = variables.map(({ name, byDefault, meaning }) =>
    `  ${name} (default: ${byDefault})\n      ${meaning}`.replaceAll("`", ""),
  );
  return ["Environment variables:", ...paragraphs].join("\n");
}
