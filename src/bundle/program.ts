/** What the bundle loads only once it is needed: `program.cjs`, with the code that V8 made of it before. */
import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import module, { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Script, constants } from "node:vm"

/** A hash of that file, which the builder puts in place of this name. */
declare const PROGRAM_HASH: string

const PROGRAM_FILE = fileURLToPath(new URL("../../dist/program.cjs", import.meta.url))
/** What the names of files with kept code begin with. */
const CACHE_PREFIX = "program-"
/** By then a server has run what a start runs. */
const CACHE_AFTER_MS = 5_000

/** Loads modules by their paths in the project. */
type ModuleLoaders = Readonly<Record<string, () => Promise<object>>>

const loaded: { program?: ModuleLoaders } = {}

/** Loads a module of the program by its path in the project. */
export async function load(path: string): Promise<object> {
  const found = (loaded.program ??= runProgramFile())[path]
  if (found === undefined) throw new Error(`${PROGRAM_FILE} has no module ${path}`)
  return found()
}

function runProgramFile(): ModuleLoaders {
  // It is ASCII alone, and the function that `Run` describes: nothing is put around so large a text.
  const source = readFileSync(PROGRAM_FILE, "latin1")
  const kept = readCodeCache()
  const script = new Script(source, {
    filename: PROGRAM_FILE,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(kept.code === undefined ? {} : { cachedData: kept.code }),
  })
  if (kept.path !== null && script.cachedDataRejected !== false) writeCodeCache(script, kept.path)
  const made: { exports: { readonly modules?: ModuleLoaders } } = { exports: {} }
  const run = script.runInThisContext() as ProgramFunction
  run(createRequire(PROGRAM_FILE), made, dirname(PROGRAM_FILE))
  return made.exports.modules ?? {}
}

/** What Node hands to a file that it loads by `require`. */
type ProgramFunction = (require: NodeJS.Require, module: object, dirname: string) => void

/** The code that was kept of a source by this version of Node, and where it is kept: nowhere where Node keeps none. */
function readCodeCache(): { readonly path: string | null; readonly code?: Buffer } {
  const folder = module.getCompileCacheDir()
  if (folder === undefined) return { path: null }
  const path = join(folder, `${CACHE_PREFIX}${PROGRAM_HASH}`)
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
function writeCodeCache(script: Script, path: string): void {
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
        if (name.startsWith(CACHE_PREFIX) && name !== basename(path)) rmSync(join(folder, name))
      }
    } catch {
      // Without it the next start takes longer, and that is all.
    }
  }
  const timer = setTimeout(keep, CACHE_AFTER_MS).unref()
  process.on("exit", keep)
}
