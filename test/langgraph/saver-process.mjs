// A process of a test: works on a thread until it is killed, and reports each step. Uses the build.

import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { EncryptedSaver } from "sealdex/langgraph";

const [indexKey, path, threadId, writer, pauseMs] = process.argv.slice(2);
const saver = new EncryptedSaver({
  indexName: "threads",
  indexKey,
  indexLocation: { location: "local", path },
});
let parent = (await saver.getTuple({ configurable: { thread_id: threadId } }))?.checkpoint.id;

for (let step = 0; ; step++) {
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(step % 16_000), channel_values: { writer, step } };
  const config = { configurable: { thread_id: threadId, checkpoint_id: parent } };
  const stored = await saver.put(config, checkpoint, { source: "loop", step, parents: {} });
  process.stdout.write(`put ${checkpoint.id}\n`);
  await new Promise((resolve) => setTimeout(resolve, Number(pauseMs)));
  await saver.putWrites(stored, [["channel", { writer, step }]], "task");
  process.stdout.write(`writes ${checkpoint.id}\n`);
  parent = checkpoint.id;
}
