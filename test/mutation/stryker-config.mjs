// Mutation testing of the ledger's core (`npm run mutate`): each mutant is one small fault in
// `domain/charging`, and at least one test must fail.
//
// A second run tests only mutants in edited lines and mutants whose tests were edited. The name of the
// results file has a hash of everything else that affects a mutant, so a change there starts over.
// `npm run mutate -- --force` tests everything: publish only the score of such a run, because an edit
// of one file of `domain/charging` can change the result of a mutant in another.

import { createHash } from "node:crypto"
import { readFileSync, readdirSync, statSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const ROOT = fileURLToPath(new URL("../..", import.meta.url))
const REPORTS = "reports/mutation"

/** Paths that affect mutants in addition to the mutated files and the tests. */
const DEPENDENCIES = [
  "domain",
  "test/charging",
  "test/golden",
  "test/kernel",
  "test/mutation",
  "test/support",
  "package-lock.json",
  "tsconfig.json",
]

/** The paths of all files under a path; the path itself if it is a file. @param {string} path @returns {string[]} */
function filesUnder(path) {
  if (statSync(join(ROOT, path)).isFile()) return [path]
  return readdirSync(join(ROOT, path))
    .toSorted()
    .flatMap((name) => filesUnder(`${path}/${name}`))
}

/** A hash of the dependencies as they are now. */
function hashOfDependencies() {
  const hash = createHash("sha256").update(process.version)
  for (const path of DEPENDENCIES.flatMap(filesUnder)) {
    if (path.startsWith("domain/charging/") || path.endsWith(".test.ts")) continue
    hash.update(`\n${path}\n`).update(readFileSync(join(ROOT, path)))
  }
  return hash.digest("hex").slice(0, 12)
}

export default {
  mutate: ["domain/charging/**/*.ts"],
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/mutation/vitest-config.ts" },
  coverageAnalysis: "perTest",
  // Stryker works on a copy of the project, and the tests need only these parts.
  ignorePatterns: ["/*", "!/domain", "!/test", "!/package.json", "!/tsconfig.json"],
  disableTypeChecks: false,
  tempDirName: `${REPORTS}/tmp`,
  cleanTempDir: "always",
  concurrency: Math.min(2, availableParallelism()),
  // Stryker counts hits to detect endless loops. A busy machine must not make a mutant look killed.
  timeoutMS: 60_000,
  incremental: true,
  incrementalFile: `${REPORTS}/incremental-${hashOfDependencies()}.json`,
  reporters: [
    "clear-text",
    process.stdout.isTTY ? "progress" : "progress-append-only",
    "html",
    "json",
  ],
  clearTextReporter: { reportTests: false, logTests: false },
  htmlReporter: { fileName: `${REPORTS}/mutation.html` },
  jsonReporter: { fileName: `${REPORTS}/mutation.json` },
  thresholds: { high: 95.7, low: 95.7, break: 95.7 },
}
