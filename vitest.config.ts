import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { TIERS } from "./test/support/tiers.ts"

/** Runs the files tier by tier in the order of their names, so that two runs differ only in the code. */
class NameSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId, project }: TestSpecification): string =>
      `${TIERS.findIndex(({ name }) => name === project.name)} ${moduleId}`
    return files.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
  }
}

/** `npm test -- --sequence.shuffle.files` looks for files that depend on their order. */
const isShuffled = process.argv.some((arg) => arg.startsWith("--sequence.shuffle"))

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    // Files wait for PostgreSQL and for each other's processes: one more than there are cores.
    maxWorkers: Math.min(4, availableParallelism() + 1),
    ...(isShuffled ? {} : { sequence: { sequencer: NameSequencer, shuffle: false } }),
    teardownTimeout: 20_000,
    projects: TIERS.map(({ name, include, exclude, isIsolated }) => ({
      test: {
        name,
        include: [...include],
        exclude: [...exclude],
        // One worker process runs many files: loading the program for each takes longer than most of them.
        isolate: isIsolated,
        environment: "node",
        setupFiles: ["test/support/setup.ts"],
        // Processes and not threads: tests start servers and send signals.
        pool: "forks",
        // Node loads TypeScript itself and keeps what it compiled for the next run. Only Vite's loader
        // can replace modules.
        experimental: { viteModuleRunner: isIsolated, nodeLoader: isIsolated },
        testTimeout: 180_000,
        hookTimeout: 180_000,
        // A test without an assertion fails, and so does one left with `.only`. Polls end immediately on a
        // quiet machine; the timeout is for a busy one.
        expect: { requireAssertions: true, poll: { timeout: 60_000 } },
        allowOnly: false,
        restoreMocks: true,
        unstubEnvs: true,
      },
    })),
  },
})
