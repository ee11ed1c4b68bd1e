/** The settings as shown by `serve --help`. docs/service.md has the same table. */

import { limitSettings } from "./limit-settings.js";

interface Variable {
  readonly name: string;
  readonly byDefault: string;
  /** Markdown. */
  readonly meaning: string;
}

const variable = (name: string, byDefault: string, meaning: string): Variable => ({
  name,
  byDefault,
  meaning,
});

/** In the order of docs/service.md. */
export const variables: readonly Variable[] = [
  variable(
    "SEALDEX_ROOT_KEY",
    "none, required unless `SEALDEX_API_KEYS` is set",
    "Issues and authenticates API keys; itself an API key for everything. At least 32 characters.",
  ),
  variable(
    "SEALDEX_API_KEYS",
    "none",
    "List of further API keys for everything, each of at least 16 characters.",
  ),
  variable("SEALDEX_AUDIT_FOLDER", "none", "Folder of the audit log; needs `SEALDEX_ROOT_KEY`."),
  variable("SEALDEX_DASHBOARD", "`on`", "`off`: disables the dashboard at `/admin`."),
  variable(
    "SEALDEX_TRUST_PROXY",
    "none",
    "List of addresses or networks of proxies whose `X-Forwarded-For` names the client.",
  ),
  variable(
    "SEALDEX_CORS_ORIGINS",
    "none",
    "List of origins whose pages may call the service, such as `https://app.example.com`.",
  ),
  variable("SEALDEX_INDEX_LOCATION", "none, required", "Location of vectors."),
  variable("SEALDEX_CONFIG_LOCATION", "the index location", "Location of names, sealed keys and manifests."),
  variable(
    "SEALDEX_ANCHOR_LOCATION",
    "none",
    "Location of anchors, which detect rollbacks of the others. Their operators must not be able to write to it.",
  ),
  variable(
    "SEALDEX_LEAVES",
    "none",
    "Makes it a router: other services that search collections for it, as URLs or as `dns://name:port`.",
  ),
  variable("SEALDEX_LEAF_API_KEY", "none, required with `SEALDEX_LEAVES`", "API key of the leaves."),
  variable(
    "SEALDEX_INDEX_KEY",
    "none: every request carries a key",
    "Key provider, so that requests need no `index_key`: `file:<path>`, `passphrase-file:<path>`, `aws-kms:<key ARN>`, `google-kms:projects/…/cryptoKeys/<key>` or `vault:https://<host>/<mount>/<key>`. Everyone with an API key for an index then opens it.",
  ),
  variable(
    "SEALDEX_MAX_STALENESS_MS",
    "0",
    "Maximum staleness of reads: writes by other processes may take this long to appear.",
  ),
  variable(
    "SEALDEX_RETENTION_MS",
    "900000",
    "How long to keep replaced data for readers in other processes and for cursors; at most 900000. Use 0 if no other process reads.",
  ),
  variable(
    "SEALDEX_OBLIVIOUS",
    "`off`",
    "`on`: keeps whole indexes in memory as ciphertext, so that the storage does not see which items are read. An index larger than a quarter of the memory, or 2 GiB, fails with 413.",
  ),
  variable(
    "SEALDEX_STORAGE_TIMEOUT_MS",
    "15000",
    "Time limit of a storage operation including retries, plus one second per MiB; then the request fails with 503.",
  ),
  variable("SEALDEX_AUTOMATIC_TRAINING", "`on`", "`off`: trains indexes only on request."),
  variable(
    "SEALDEX_MODELS",
    "none",
    "List of embedding models besides the built-in ones, such as `all-MiniLM-L6-v2`. Needs `npm install @huggingface/transformers`.",
  ),
  variable("SEALDEX_MODEL_FOLDER", "none", "A folder of models, each in a folder with its name."),
  variable("SEALDEX_MODEL_CACHE", "`~/.cache/sealdex/models`", "Folder of downloaded models."),
  variable("SEALDEX_MODEL_DOWNLOADS", "`on`", "`off`: disables downloads of models."),
  variable(
    "SEALDEX_HOST",
    "`127.0.0.1`",
    "Address to listen on; `localhost` means 127.0.0.1. For any other, set `SEALDEX_TLS_CERT_FILE` or use a proxy with TLS: requests contain keys.",
  ),
  variable(
    "SEALDEX_TLS_CERT_FILE",
    "none: HTTP without TLS",
    "PEM file with the certificate chain. Restart to use a renewed one.",
  ),
  variable("SEALDEX_TLS_KEY_FILE", "none", "PEM file with the key of the certificate."),
  variable(
    "SEALDEX_TLS_CLIENT_CA_FILE",
    "none",
    "PEM file with the authorities of client certificates, which are then required.",
  ),
  variable("SEALDEX_CONFIG", "none", "YAML file with settings, like `--config`. The environment wins."),
  variable("SEALDEX_PORT", "`8000`", "0 lets the system choose."),
  variable(
    "SEALDEX_PROCESSES",
    "`1`",
    "Processes on the port, at most one per core. Most limits apply to each.",
  ),
  ...Object.values(limitSettings),
];

export function settingsHelp(): string {
  const paragraphs = variables.map(({ name, byDefault, meaning }) =>
    `  ${name} (default: ${byDefault})\n      ${meaning}`.replaceAll("`", ""),
  );
  const units = "Environment variables (MS: milliseconds, BYTES: bytes, lists: separated by commas):";
  return [units, ...paragraphs].join("\n");
}
