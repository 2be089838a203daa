import { cruise, type ICruiseResult, type IModule } from "dependency-cruiser"
import extractDepcruiseOptions from "dependency-cruiser/config-utl/extract-depcruise-options"
import extractTSConfig from "dependency-cruiser/config-utl/extract-ts-config"
import { join } from "node:path"
import { ROOT } from "./source-tree.ts"

/** The layers whose folders must not import each other. */
const LAYERS = /^(domain|projections|adapters|src)\//

/** Folders of slices have two path segments; subfolders of slices, the frame and adapters have three. */
const FOLDER_DEPTHS = [2, 3] as const

/** The result of the import rules for a tree of files. */
export interface ImportReport {
  /** `rule: from → to`, one for each import that breaks a rule. */
  readonly violations: readonly string[]
  /** The files that were read, without packages and Node's modules. */
  readonly modules: readonly string[]
}

/** Imports between two folders that import each other, as violations of the rule `mutual-folders`. */
function mutualImports(modules: readonly IModule[]): readonly string[] {
  const imports = modules.flatMap(({ source, dependencies }) =>
    dependencies
      .map(({ resolved }) => ({ from: source, to: resolved }))
      .filter(({ from, to }) => [from, to].every((path) => LAYERS.test(path))),
  )
  const mutual = FOLDER_DEPTHS.flatMap((depth) => {
    // A file above this depth is a folder of its own.
    const folderOf = (path: string) => path.split("/").slice(0, depth).join("/")
    const directions = new Set(imports.map(({ from, to }) => `${folderOf(from)} → ${folderOf(to)}`))
    return imports.filter(({ from, to }) => {
      const [here, there] = [folderOf(from), folderOf(to)]
      return here !== there && directions.has(`${there} → ${here}`)
    })
  })
  return [...new Set(mutual.map(({ from, to }) => `mutual-folders: ${from} → ${to}`))]
}

/**
 * Applies the project's import rules to folders of a tree.
 *
 * @param baseDir the root of the tree, which contains `domain/`, `src/` and so on
 * @param folders folders and files in it
 */
export async function checkImportRules(
  baseDir: string,
  folders: readonly string[],
): Promise<ImportReport> {
  const options = await extractDepcruiseOptions(join(ROOT, ".dependency-cruiser.cjs"))
  const tsConfig = extractTSConfig(join(ROOT, "tsconfig.json"))
  const { output } = await cruise([...folders], { ...options, baseDir }, undefined, { tsConfig })
  const { modules, summary } = output as ICruiseResult
  return {
    violations: [
      ...summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`),
      ...mutualImports(modules),
    ],
    modules: modules
      .filter((module) => !module.coreModule && module.couldNotResolve !== true)
      .map((module) => module.source)
      .filter((source) => !source.includes("node_modules/")),
  }
}
