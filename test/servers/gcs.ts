/** The project's own emulator of Google Cloud Storage, with one bucket. Every machine has it. */

import { startGcsEmulator } from "../gcs-emulator/emulator.js";

export const install = "";

export async function startGcs(): Promise<{ env: Record<string, string>; stop(): Promise<void> }> {
  const keys = new Map([["GOOG1ETESTS", "secret/of+tests"]]);
  const emulator = await startGcsEmulator({ keys, buckets: new Map([["tests", new Map()]]) });
  return {
    env: {
      SEALDEX_TEST_GCS_ENDPOINT: emulator.endpoint,
      SEALDEX_TEST_GCS_BUCKET: "tests",
      SEALDEX_TEST_GCS_ACCESS_KEY: "GOOG1ETESTS",
      SEALDEX_TEST_GCS_SECRET_KEY: "secret/of+tests",
    },
    stop: () => emulator.stop(),
  };
}
