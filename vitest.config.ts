import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Runs the files in the order of their names, so that two runs differ in nothing but the code. */
class NameSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => (a.moduleId < b.moduleId ? -1 : 1))
  }
}

export default defineConfig({
  test: {
    environment: "node",
    include: ["{test,bench}/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    // A process per file: tests start servers, send signals and change directories.
    pool: "forks",
    // Files wait for PostgreSQL's flushes more than for a core, so two run even on one.
    maxWorkers: Math.min(4, Math.max(2, availableParallelism())),
    sequence: { sequencer: NameSequencer, shuffle: false, concurrent: false },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    // A test that asserts nothing is a failure, and so is one left alone with `.only`. What is waited
    // for comes at once, but not on a machine that is busy with something else.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    allowOnly: false,
    restoreMocks: true,
    unstubEnvs: true,
  },
})
