/** The command line of `sealdex-migrate`. */

import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import { type Metric, SealdexError } from "sealdex/core";
import { migrate, plan } from "./migrate.js";
import { ProgressBar } from "./progress-bar.js";
import { hasPassed, planText, resultText } from "./report.js";
import { openSource } from "./sources/open.js";
import { StateFile } from "./state-file.js";
import { Target } from "./target.js";

interface Arguments {
  readonly from: string;
  readonly to: string;
  readonly index: string;
  readonly keyFile: string;
  readonly fromKeyFile?: string;
  readonly namespace?: string;
  readonly metric?: Metric;
  readonly textIndex?: boolean;
  readonly idField?: string;
  readonly vectorField?: string;
  readonly textField?: string;
  readonly metadataField?: string;
  readonly state?: string;
  readonly plan?: boolean;
}

const sourcesHelp = `
Sources:
  hnswlib:<folder>   faiss:<folder>             as LangChain's save wrote them
  memory:<file>                                 JSON of MemoryVectorStore's memoryVectors
  jsonl:<file>       parquet:<file>
  lancedb:<folder>/<table>                      npx -p sealdex-migrate -p @lancedb/lancedb sealdex-migrate …
  pgvector:postgres://<host>/<database>?table=<name>   npx -p sealdex-migrate -p pg sealdex-migrate …; PGPASSWORD
  chroma:http://<host>:8000/<collection>        ?tenant=…&database=…; CHROMA_API_KEY
  qdrant:https://<host>:6333/<collection>       QDRANT_API_KEY
  pinecone:https://<index host>/<namespace>     PINECONE_API_KEY
  cyborgdb:http://<host>:8000/<index>           --from-key-file; CYBORGDB_API_KEY

Targets:
  file:./data   s3://…   gs://…   redis://…   postgres://…   or JSON, as for sealdex-server
  http://…   https://…                          a Sealdex service; SEALDEX_API_KEY
`;

const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
const { version } = JSON.parse(manifest) as { version: string };

const program = new Command("sealdex-migrate")
  .description(
    "Moves vectors, texts, metadata and ids from another store. Embeds nothing. Run it again to resume.",
  )
  .version(version)
  .requiredOption("--from <source>", "the old store")
  .requiredOption("--to <location>", "the storage or service of the new index")
  .requiredOption("--index <name>", "the new index; created if it does not exist")
  .requiredOption("--key-file <path>", "a file with its key; a new index makes a missing one")
  .option("--plan", "count and show some rows, write nothing")
  .option("--namespace <name>", "store the items in this namespace")
  .addOption(
    new Option("--metric <metric>", "distance of a new index (default: the source's)").choices([
      "cosine",
      "euclidean",
      "squared_euclidean",
    ]),
  )
  .option("--text-index", "a new index also searches by words")
  .option("--id-field <name>", "the source's field, or column, with ids")
  .option("--vector-field <name>", "with vectors")
  .option("--text-field <name>", "with texts")
  .option("--metadata-field <name>", "with metadata; all other fields join them")
  .option("--from-key-file <path>", "a file with the key of the old index, for cyborgdb:")
  .option("--state <path>", "where to resume from (default: <index>.sealdex-migrate.json)")
  .addHelpText("after", sourcesHelp);

try {
  await run(program.parse().opts<Arguments>());
} catch (error) {
  // Failures of the stores print one line; anything else is a bug and shows its stack.
  const isExpected =
    error instanceof SealdexError || (typeof error === "object" && error !== null && "code" in error);
  if (!isExpected) throw error;
  program.error(`error: ${(error as Error).message}`);
}

async function run(options: Arguments): Promise<void> {
  const { from, to, index: indexName, keyFile, fromKeyFile, namespace, metric, textIndex = false } = options;
  const { idField, vectorField, textField, metadataField } = options;
  const fields = { id: idField, vector: vectorField, text: textField, metadata: metadataField };
  const source = await openSource({ from, fields, keyFile: fromKeyFile, environment: process.env });
  const target = new Target({ to, index: indexName, keyFile, apiKey: process.env.SEALDEX_API_KEY });
  const bar = new ProgressBar();
  try {
    const migration = { source, fields, target, indexName, namespace, newIndex: { metric, textIndex } };
    if (options.plan === true) {
      process.stdout.write(planText(await plan(migration)));
      return;
    }
    const state = new StateFile(
      options.state ?? `${indexName.replace(/[^\w.-]/g, "_")}.sealdex-migrate.json`,
    );
    const result = await migrate(migration, state, (...progress) => bar.show(...progress));
    bar.end();
    process.stdout.write(resultText(source.name, indexName, result));
    if (!hasPassed(result)) process.exitCode = 1;
  } finally {
    bar.end();
    await Promise.allSettled([source.close?.(), target.close()]);
  }
}
