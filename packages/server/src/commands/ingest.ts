/** `sealdex-server ingest`: one part of many files into an index or a collection. */

import type { Command } from "commander";
import { ingestPart } from "../jobs/ingest-part.js";
import { parsePart } from "../jobs/split-input.js";
import type { ReadSettings } from "../settings/settings.js";
import { type KeyArguments, useIndex, withKeyFile } from "./open-index.js";
import { withBar } from "./progress-bar.js";

interface IngestArguments extends KeyArguments {
  readonly index: string;
  readonly from: string;
  readonly part: string;
  readonly batchSize?: string;
}

export function addIngestCommand(program: Command, read: ReadSettings): void {
  withKeyFile(
    program
      .command("ingest")
      .description(
        "Store one part of the rows of JSON lines and Parquet files. May be repeated. Needs the locations of the service.",
      )
      .requiredOption("--index <name>", "the index or collection")
      .requiredOption(
        "--from <location>",
        "a file, folder or pattern, as a path or s3://bucket/path?region=…",
      ),
  )
    .option("--part <i/n>", "the part, i from 0, such as $JOB_COMPLETION_INDEX/32", "0/1")
    .option("--batch-size <number>", "rows per upsert, 1 to 10000 (default: 1000)")
    .action(({ index: indexName, from, part, batchSize, ...options }: IngestArguments) => {
      const parsed = parsePart(part);
      return useIndex(read, indexName, options, async (to) => {
        const line = await withBar((show) =>
          ingestPart({
            to,
            from,
            part: parsed,
            ...(batchSize !== undefined && { batchSize: Number(batchSize) }),
            onProgress: ({ items }) => show(items, undefined, "rows"),
          }),
        );
        process.stdout.write(`${line}\n`);
      });
    });
}
