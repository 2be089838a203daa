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

/** The tests of the ledger, without PostgreSQL: what `npm run mutate` runs on each mutant. */
export default defineConfig({
  test: {
    environment: "node",
    include: ["test/{charging,kernel}/**/*.test.ts"],
    // These try the laws on ledgers that are wrong on purpose: the ledger itself is not their matter.
    exclude: ["test/charging/faulty-ledgers.test.ts"],
    setupFiles: ["test/mutation/same-cases.ts"],
    // A suite that goes through many cases goes through few of them for each mutant.
    env: { LEDGER_RUNS: "few" },
    sequence: { sequencer: LawsLastSequencer, shuffle: false, concurrent: false },
    expect: { requireAssertions: true },
    allowOnly: false,
    restoreMocks: true,
    unstubEnvs: true,
  },
})
