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
    reporters: [new ClosingReporter()],
  },
});
