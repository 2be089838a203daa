import { writeFileSync } from "node:fs"
import { relative } from "node:path"
import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node"

/** A test that did not run, and why. */
export interface SkippedTest {
  /** The file and the names of its suites and itself. */
  readonly name: string
  readonly reason: string
}

/** The counts of a run, as `bin/suite.mjs` reads them. */
export interface RunCounts {
  readonly passed: number
  /** Failed tests, and errors of files, suites and the run outside a test. */
  readonly failed: number
  readonly skipped: readonly SkippedTest[]
}

/** The reason why a test was skipped: its own note, or its state. */
function reasonOf(test: TestCase): string {
  const result = test.result()
  if (result.state === "skipped" && result.note !== undefined) return result.note
  if (result.state === "pending") return "the run ended before it"
  if (test.options.mode === "todo") return "not written yet"
  const hasBroken = (parent: TestSuite | TestModule): boolean =>
    parent.errors().length > 0 || (parent.type === "suite" && hasBroken(parent.parent))
  return hasBroken(test.parent) ? "its suite broke before it" : "no reason given"
}

/**
 * Counts a finished run. A file or suite with an error outside its tests counts as one failure, as does each unhandled
 * error. Tests that the name filter excludes are not counted.
 */
export function countRun(
  modules: readonly TestModule[],
  unhandledErrors: number,
  nameFilter: RegExp | undefined,
  root: string,
): RunCounts {
  let passed = 0
  let failed = unhandledErrors
  const skipped: SkippedTest[] = []
  for (const module of modules) {
    if (module.errors().length > 0) failed += 1
    for (const suite of module.children.allSuites()) if (suite.errors().length > 0) failed += 1
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === "passed") passed += 1
      else if (state === "failed") failed += 1
      else if (nameFilter?.test(test.fullName) !== false) {
        const name = `${relative(root, module.moduleId)} > ${test.fullName}`
        skipped.push({ name, reason: reasonOf(test) })
      }
    }
  }
  return { passed, failed, skipped }
}

/** Writes the counts of a run as JSON to the file that `TEST_REPORT_FILE` names. */
export default class CountsReporter implements Reporter {
  #vitest: Vitest | undefined

  /** Stores the run's context. */
  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  /** Writes the counts. @throws the operating system's error if the file cannot be written */
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const path = process.env["TEST_REPORT_FILE"]
    if (path === undefined) return
    const filter = this.#vitest?.getGlobalTestNamePattern()
    const root = this.#vitest?.config.root ?? process.cwd()
    const counts = countRun(modules, unhandledErrors.length, filter, root)
    writeFileSync(path, JSON.stringify(counts))
    const costs = modules.map((module) => ({
      file: relative(root, module.moduleId),
      tier: module.project.name,
      tests: [...module.children.allTests()].length,
      ...module.meta().costs,
    }))
    writeFileSync(`${path}.costs`, JSON.stringify(costs))
  }
}
