import { cruise, type ICruiseResult } from "dependency-cruiser"
import extractDepcruiseOptions from "dependency-cruiser/config-utl/extract-depcruise-options"
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config"
import { join } from "node:path"
import { ROOT } from "./tree.ts"

/** What the import rules say about a tree of files. */
export interface ImportReport {
  /** `rule: from → to`, one for each import that breaks a rule. */
  readonly violations: readonly string[]
  /** The files that were read, packages and Node's own modules left out. */
  readonly modules: readonly string[]
}

/**
 * Holds the house's import rules against the rooms of a tree.
 *
 * @param baseDir the tree's folder: the one that has `domain/`, `src/` and so on
 * @param rooms folders and files in it
 */
export async function checkImports(
  baseDir: string,
  rooms: readonly string[],
): Promise<ImportReport> {
  const options = await extractDepcruiseOptions(join(ROOT, ".dependency-cruiser.cjs"))
  const tsConfig = extractTSConfig(join(ROOT, "tsconfig.json"))
  const { output } = await cruise([...rooms], { ...options, baseDir }, undefined, { tsConfig })
  const { modules, summary } = output as ICruiseResult
  return {
    violations: summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`),
    modules: modules
      .filter((module) => !module.coreModule && module.couldNotResolve !== true)
      .map((module) => module.source)
      .filter((source) => !source.includes("node_modules/")),
  }
}
