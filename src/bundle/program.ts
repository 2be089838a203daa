/** What the bundle loads only once it is needed: `program.cjs`, with the code that V8 made of it before. */
import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import module, { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Script, constants } from "node:vm"

/** A hash of that file, which the builder puts in place of this name. */
declare const PROGRAM_HASH: string

const FILE = fileURLToPath(new URL("../../dist/program.cjs", import.meta.url))
/** What the names of files with kept code begin with. */
const KEPT = "program-"
/** By then a server has run what a start runs. */
const KEEP_AFTER_MS = 5_000

/** Loads modules by their paths in the project. */
type Modules = Readonly<Record<string, () => Promise<object>>>

const loaded: { program?: Modules } = {}

/** Loads a module of the program by its path in the project. */
export async function load(path: string): Promise<object> {
  const found = (loaded.program ??= program())[path]
  if (found === undefined) throw new Error(`${FILE} has no module ${path}`)
  return found()
}

function program(): Modules {
  // It is ASCII alone, and the function that `Run` describes: nothing is put around so large a text.
  const source = readFileSync(FILE, "latin1")
  const kept = keptCode()
  const script = new Script(source, {
    filename: FILE,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(kept.code === undefined ? {} : { cachedData: kept.code }),
  })
  if (kept.path !== null && script.cachedDataRejected !== false) keepCode(script, kept.path)
  const made: { exports: { readonly modules?: Modules } } = { exports: {} }
  const run = script.runInThisContext() as Run
  run(createRequire(FILE), made, dirname(FILE))
  return made.exports.modules ?? {}
}

/** What Node hands to a file that it loads by `require`. */
type Run = (require: NodeJS.Require, module: object, dirname: string) => void

/** The code that was kept of a source by this version of Node, and where it is kept: nowhere where Node keeps none. */
function keptCode(): { readonly path: string | null; readonly code?: Buffer } {
  const folder = module.getCompileCacheDir()
  if (folder === undefined) return { path: null }
  const path = join(folder, `${KEPT}${PROGRAM_HASH}`)
  try {
    return { path, code: readFileSync(path) }
  } catch {
    return { path }
  }
}

/**
 * Keeps the code of all functions that have run by then: Node's own cache has none of those that are
 * called later than their file is loaded.
 */
function keepCode(script: Script, path: string): void {
  const keep = (): void => {
    process.off("exit", keep)
    clearTimeout(timer)
    try {
      const draft = `${path}.${process.pid}`
      writeFileSync(draft, script.createCachedData())
      renameSync(draft, path)
      // That of another bundle takes 6 MB, and is used by nobody who has this one.
      const folder = dirname(path)
      for (const name of readdirSync(folder)) {
        if (name.startsWith(KEPT) && name !== basename(path)) rmSync(join(folder, name))
      }
    } catch {
      // Without it the next start takes longer, and that is all.
    }
  }
  const timer = setTimeout(keep, KEEP_AFTER_MS).unref()
  process.on("exit", keep)
}
