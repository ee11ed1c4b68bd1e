import { run } from "./run.mjs";

void run().then((result) => {
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.exitCode = result.ok ? 0 : 1;
});
