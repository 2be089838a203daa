// Mutation testing of the ledger's core (`npm run mutate`): each mutant is one small fault put into
// `domain/charging`, and a test has to notice it.
//
// A second run measures again only what changed: mutants in edited lines, and mutants whose tests
// were edited. What else decides about a mutant is in the name of the file that the results are kept
// in, so that a change of it begins anew. `npm run mutate -- --force` measures everything again: the
// number to tell others is that one's, for an edit of one file of `domain/charging` can change what
// becomes of a mutant in another.

import { createHash } from "node:crypto"
import { readFileSync, readdirSync, statSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const ROOT = fileURLToPath(new URL("../..", import.meta.url))
const REPORTS = "reports/mutation"

/** What decides about a mutant beside the mutated files and the tests. */
const SURROUNDINGS = [
  "domain",
  "test/charging",
  "test/golden",
  "test/kernel",
  "test/mutation",
  "test/support",
  "package-lock.json",
  "tsconfig.json",
]

/** The paths of the files under a path, itself if it is a file. @param {string} path @returns {string[]} */
function filesUnder(path) {
  if (statSync(join(ROOT, path)).isFile()) return [path]
  return readdirSync(join(ROOT, path))
    .toSorted()
    .flatMap((name) => filesUnder(`${path}/${name}`))
}

/** A name for the surroundings as they are now. */
function nameOfSurroundings() {
  const hash = createHash("sha256").update(process.version)
  for (const path of SURROUNDINGS.flatMap(filesUnder)) {
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
  // Tests need no more of the project than this; Stryker works on a copy of it.
  ignorePatterns: ["/*", "!/domain", "!/test", "!/package.json", "!/tsconfig.json"],
  disableTypeChecks: false,
  tempDirName: `${REPORTS}/tmp`,
  cleanTempDir: "always",
  concurrency: Math.min(2, availableParallelism()),
  // Endless loops are found by counting. A busy machine must not make a mutant look dead.
  timeoutMS: 60_000,
  incremental: true,
  incrementalFile: `${REPORTS}/incremental-${nameOfSurroundings()}.json`,
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
