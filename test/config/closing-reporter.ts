/** Vitest's own report, with what this tier skips above its summary, and one line of counts below. */

import type { SerializedError } from "vitest";
import { DefaultReporter, type TestModule, type TestRunEndReason } from "vitest/node";

export default class ClosingReporter extends DefaultReporter {
  readonly #skips: string | undefined;

  constructor({ skips }: { readonly skips?: string } = {}) {
    super();
    this.#skips = skips;
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    if (this.#skips !== undefined) this.log(`\n${this.#skips}`);
    super.onTestRunEnd(modules, errors, reason);
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const ended = (state: "passed" | "failed") =>
      tests.filter((test) => test.result().state === state).length;
    // A file that can not be loaded and an error that no test caught count as failures.
    const failedFiles = modules.filter((module) => module.errors().length > 0).length;
    this.log(`${ended("passed")} passed, ${ended("failed") + failedFiles + errors.length} failed`);
  }
}
