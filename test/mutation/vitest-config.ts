import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Sorts by name, with the law tests last: they take longest, and most mutants are killed before them. */
class LawsLastSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sortKey = ({ moduleId }: TestSpecification): string =>
      /\/laws[^/]*$/.test(moduleId) ? `~${moduleId}` : moduleId
    return files.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
  }
}

/**
 * The tests of the ledger without PostgreSQL, which `npm run mutate` runs on each mutant. Code that runs
 * outside of tests, in `beforeAll` or at the top of a file, is covered by no test in particular: a mutant
 * in it then runs all tests, which makes a run many times longer.
 */
export default defineConfig({
  test: {
    environment: "node",
    // The files of one run share a worker, which saves a third of the time. Each mutant still gets a new
    // worker, because vitest keeps none between runs.
    isolate: false,
    include: ["test/{charging,kernel}/**/*.test.ts"],
    // These test the laws, and the histories that the laws are checked on, but not the ledger.
    exclude: ["test/charging/{faulty-ledgers,histories}.test.ts"],
    setupFiles: ["test/mutation/fixed-seed.ts"],
    // Suites with many cases run only a few of them for each mutant.
    env: { LEDGER_RUNS: "few" },
    sequence: { sequencer: LawsLastSequencer, shuffle: false, concurrent: false },
    expect: { requireAssertions: true },
    allowOnly: false,
    restoreMocks: true,
    unstubEnvs: true,
  },
})
