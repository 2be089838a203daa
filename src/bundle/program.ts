/** Loads the bundle's `program.cjs` on demand, with V8's cached code. */
import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import module, { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Script, constants } from "node:vm"

/** Hash of `program.cjs`; the builder replaces this name. */
declare const PROGRAM_HASH: string

const PROGRAM_FILE = fileURLToPath(new URL("../../dist/program.cjs", import.meta.url))
/** Prefix of the names of cache files. */
const CACHE_PREFIX = "program-"
/** By this time a server has run all functions of a start. */
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
  // The file is ASCII and already a function, so this large text needs no wrapper.
  const source = readFileSync(PROGRAM_FILE, "latin1")
  const cache = readCodeCache()
  const script = new Script(source, {
    filename: PROGRAM_FILE,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(cache.code === undefined ? {} : { cachedData: cache.code }),
  })
  if (cache.path !== null && script.cachedDataRejected !== false) writeCodeCache(script, cache.path)
  const made: { exports: { readonly modules?: ModuleLoaders } } = { exports: {} }
  const run = script.runInThisContext() as ProgramFunction
  run(createRequire(PROGRAM_FILE), made, dirname(PROGRAM_FILE))
  return made.exports.modules ?? {}
}

type ProgramFunction = (require: NodeJS.Require, module: object, dirname: string) => void

/** Reads the cached code for this Node version. `path` is null if Node's compile cache is off. */
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
 * Caches the code of all functions that run until then. Node's own cache lacks functions that are first called after
 * their file was loaded.
 */
function writeCodeCache(script: Script, path: string): void {
  const write = (): void => {
    process.off("exit", write)
    clearTimeout(timer)
    try {
      const draft = `${path}.${process.pid}`
      writeFileSync(draft, script.createCachedData())
      renameSync(draft, path)
      // The cache of another bundle takes 6 MB and is no longer used.
      const folder = dirname(path)
      for (const name of readdirSync(folder)) {
        if (name.startsWith(CACHE_PREFIX) && name !== basename(path)) rmSync(join(folder, name))
      }
    } catch {
      // Without the cache the next start only takes longer.
    }
  }
  const timer = setTimeout(write, CACHE_AFTER_MS).unref()
  process.on("exit", write)
}
