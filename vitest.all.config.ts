import { defineConfig } from "vitest/config";
import ClosingReporter from "./test/closing-reporter.js";
import { common } from "./vitest.config.js";

/** `npm run test:all`: every test, on every server. */
export default defineConfig({
  ...common,
  test: {
    ...common.test,
    globalSetup: ["test/servers/global-setup.ts"],
    provide: { tier: "all" },
    // Suites wait for servers and for processes that they start: more workers than processors keep these busy.
    maxWorkers: "150%",
    reporters: [new ClosingReporter()],
  },
});
