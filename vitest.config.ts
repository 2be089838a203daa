import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { SUITE_GROUPS } from "./test/support/suite-groups.ts"

/**
 * Runs the files in the order of their names, so that two runs differ in nothing but the code. Those
 * apart come first: a process is kept as long as the next file may be run in it.
 */
class NameSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId, project }: TestSpecification): string =>
      `${project.name} ${moduleId}`
    return files.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
  }
}

const shared = {
  environment: "node",
  setupFiles: ["test/support/setup.ts"],
  // Processes and not threads: tests start servers and send signals.
  pool: "forks",
  // Node loads TypeScript itself, and keeps what it compiled for the next run.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  testTimeout: 180_000,
  hookTimeout: 180_000,
  // A test that asserts nothing is a failure, and so is one left alone with `.only`. What is waited
  // for comes at once, but not on a machine that is busy with something else.
  expect: { requireAssertions: true, poll: { timeout: 60_000 } },
  allowOnly: false,
  restoreMocks: true,
  unstubEnvs: true,
} as const

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    // Files wait for PostgreSQL and for one another's processes: one more than there are cores.
    maxWorkers: Math.min(4, availableParallelism() + 1),
    sequence: { sequencer: NameSequencer, shuffle: false, concurrent: false },
    teardownTimeout: 20_000,
    projects: SUITE_GROUPS.map(({ name, include, exclude, isApart }) => ({
      test: {
        ...shared,
        name,
        include: [...include],
        exclude: [...exclude],
        // One process runs many files: loading the program anew for each takes longer than most of them.
        isolate: isApart,
      },
    })),
  },
})
