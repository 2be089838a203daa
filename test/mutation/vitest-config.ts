import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** By name, but the laws last: they take the longest, and most mutants are dead before them. */
class LawsLastSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): string =>
      /\/laws[^/]*$/.test(moduleId) ? `~${moduleId}` : moduleId
    return files.toSorted((a, b) => (place(a) < place(b) ? -1 : 1))
  }
}

/**
 * The tests of the ledger, without PostgreSQL: what `npm run mutate` runs on each mutant. What the
 * ledger does before the first test of a file, in `beforeAll` or beside `describe`, is seen to belong
 * to no test, and every mutant that it touches then runs them all: a run becomes many times longer.
 */
export default defineConfig({
  test: {
    environment: "node",
    // The files of one run share a worker, which takes a third of the time away. Each mutant still gets
    // a worker of its own: vitest keeps none over from run to run.
    isolate: false,
    include: ["test/{charging,kernel}/**/*.test.ts"],
    // These try the laws, and the histories that the laws are tried on, not the ledger.
    exclude: ["test/charging/{faulty-ledgers,histories}.test.ts"],
    setupFiles: ["test/mutation/fixed-seed.ts"],
    // A suite that goes through many cases goes through few of them for each mutant.
    env: { LEDGER_RUNS: "few" },
    sequence: { sequencer: LawsLastSequencer, shuffle: false, concurrent: false },
    expect: { requireAssertions: true },
    allowOnly: false,
    restoreMocks: true,
    unstubEnvs: true,
  },
})
