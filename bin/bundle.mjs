// Builds the program as JavaScript in `dist/`, with source maps.
//
// `ledger.cjs` is the command line, `program.cjs` everything else. A command that a running server answers loads
// only the first. The other files are entry points of processes and threads.

import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"
import { isUnwritable, withLock } from "./install.mjs"
import { ROOT } from "./node.mjs"
import {
  BUNDLE_FILE,
  BUNDLE_FOLDER,
  SOURCE_FOLDERS,
  BUNDLE_STAMP,
  isBundleFresh,
  sourcesHash,
} from "./program.mjs"

const MAIN = "src/main.ts"
/** The table of modules; a build replaces it by the modules that the catalogue names. */
const MODULES = "src/modules.ts"
/** The command line always renders tables, so it includes this module. */
const RENDERER = "src/frame/operator/cli/render.ts"
/** Entry points of processes and threads, with their files in `dist/`. @type {Record<string, string>} */
const ENTRIES = {
  "src/bootstrap/processes/main.ts": "process.cjs",
  "adapters/git/secret-scan/worker.ts": "secret-scan.cjs",
  "src/registration/page-thread.ts": "page-thread.cjs",
}
const PROCESS = "src/bootstrap/processes/main.ts"
const THREADS = Object.keys(ENTRIES).filter((path) => path !== PROCESS)

/** Packages that are not bundled: they read their own files, may be absent, or are rarely needed. */
const EXTERNAL = [
  "@eventstore/db-client",
  "@grpc/grpc-js",
  "@secretlint/*",
  "pdfkit",
  "pg-native",
  "stripe",
]

/** A file's path relative to the project. @param {string} path */
const nameOf = (path) => relative(ROOT, path).replaceAll(sep, "/")

/** Defines the module addresses in each file of the bundle: they name the source, next to which a module reads files. */
const BANNER = `"use strict";const __root=require("node:path").dirname(__dirname),__url=require("node:url").pathToFileURL(__root+"/").href;`

/** The address of a worker or process, which becomes that of a file of the bundle. */
const ADDRESS = /new URL\("(\.\.?\/[^"]+\.ts)", import\.meta\.url\)/g

/** Replaces the addresses in a source by those in the bundle. @param {string} path @param {string} text */
function withBundleAddresses(path, text) {
  const name = JSON.stringify(path)
  return text
    .replaceAll(ADDRESS, (whole, to) => {
      const target = nameOf(resolve(ROOT, dirname(path), to))
      const file = ENTRIES[target]
      if (file !== undefined) return `new URL(${JSON.stringify(`dist/${file}`)}, __url)`
      // Only checkouts have the benchmarks.
      if (target.startsWith("bench/")) return whole
      throw new Error(
        `${path} names ${target}, which is not a file of the bundle: add it to ENTRIES`,
      )
    })
    .replaceAll("import.meta.url", `(__url + ${name})`)
    .replaceAll("import.meta.dirname", `require("node:path").join(__root, ${name}, "..")`)
}

/** Returns the modules that the catalogue names, as paths below `src/`. */
function catalogueModules() {
  const { settings, providers, commands } = JSON.parse(
    readFileSync(join(ROOT, "src", "catalogue.json"), "utf8"),
  )
  const froms = commands.flatMap((/** @type {{from?: string}} */ { from }) => from ?? [])
  return [...new Set([...settings, ...providers, ...froms])]
}

/** Returns the text of `src/modules.ts` for the bundle. */
function modulesText() {
  const lines = catalogueModules().map(
    (path) => `${JSON.stringify(path)}: () => import("./${path}")`,
  )
  return `const MODULES = {${lines.join(",")}}\nexport const moduleAt = (path) => MODULES[path]()`
}

/** A dynamic import. */
const DYNAMIC_IMPORT = /\bimport\("(\.\.?\/[^"]+\.ts)"\)/g

/**
 * Replaces the command line's dynamic imports by modules of `program.cjs`.
 *
 * @param {string} path
 * @param {string} text
 * @param {Set<string>} imported receives the paths of these modules
 */
function withLazyImports(path, text, imported) {
  const replaced = text.replaceAll(DYNAMIC_IMPORT, (whole, to) => {
    const target = nameOf(resolve(ROOT, dirname(path), to))
    if (target === RENDERER) return whole
    imported.add(target)
    return `__load(${JSON.stringify(target)})`
  })
  const loader = JSON.stringify(`${ROOT}/src/bundle/program.ts`)
  return replaced === text ? text : `import { load as __load } from ${loader};${replaced}`
}

/** A bundled package that reads files next to its own. */
const WITH_FILES = "@fastify/swagger-ui"

/** Gives that package its folder, and leaves out unused parts of packages. @type {import("esbuild").Plugin} */
const packagesPlugin = {
  name: "packages",
  setup: (build) => {
    // All messages of the API are English.
    build.onLoad({ filter: /node_modules\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js"',
    }))
    build.onLoad({ filter: new RegExp(`node_modules/${WITH_FILES}/.*\\.js$`) }, ({ path }) => {
      const subfolder = relative(join(ROOT, "node_modules", WITH_FILES), dirname(path))
      const found = `require("node:path").dirname(require.resolve("${WITH_FILES}/package.json"))`
      const folder = `require("node:path").join(${found}, ${JSON.stringify(subfolder)})`
      return { contents: readFileSync(path, "utf8").replaceAll("__dirname", folder), loader: "js" }
    })
  },
}

/**
 * Reads the project's own modules.
 *
 * @param {(path: string, text: string) => string} [change] a further change of each source
 * @returns {import("esbuild").Plugin}
 */
const sourcesPlugin = (change = (_, text) => text) => ({
  name: "sources",
  setup: (build) => {
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const name = nameOf(path)
      const text = name === MODULES ? modulesText() : readFileSync(path, "utf8")
      return { contents: change(name, withBundleAddresses(name, text)), loader: "ts" }
    })
  },
})

/**
 * Takes shared modules from the command line's file, so that each is loaded only once.
 *
 * @param {Set<string>} shared
 * @returns {import("esbuild").Plugin}
 */
const sharedPlugin = (shared) => ({
  name: "shared",
  setup: (build) => {
    build.onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
      const name = nameOf(resolve(resolveDir, path))
      return shared.has(name) ? { path: name, namespace: "shared" } : undefined
    })
    build.onLoad({ filter: /./, namespace: "shared" }, ({ path }) => ({
      contents: `module.exports = require("./ledger.cjs").modules[${JSON.stringify(path)}]`,
    }))
  },
})

/** Returns a table of modules. @param {Iterable<string>} paths @param {(path: string, index: number) => string} valueOf */
const table = (paths, valueOf) =>
  `export const modules = {${[...paths].map((path, index) => `${JSON.stringify(path)}: ${valueOf(path, index)}`).join(",")}}`

const STACKS_IMPORT = 'import "./src/bundle/stacks.ts"'

/** @type {import("esbuild").BuildOptions} */
const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node22",
  external: [...EXTERNAL, "./ledger.cjs"],
  banner: { js: BANNER },
  // Without comments the text is ASCII, which takes half the memory.
  minifyWhitespace: true,
  lineLimit: 120,
  legalComments: "none",
  sourcemap: "linked",
  sourcesContent: false,
  write: false,
  // The thrown error has esbuild's messages.
  logLevel: "silent",
}

const PROGRAM = "program.cjs"
/** Wraps the program in a function, because `src/bundle/program.ts` loads it with V8's cached code. */
const PROGRAM_WRAPPER = {
  banner: { js: `(function(require,module,__dirname){${BANNER}` },
  footer: { js: "})" },
}

/**
 * Builds all files of the bundle.
 *
 * @returns {Promise<import("esbuild").OutputFile[]>}
 */
async function makeBundle() {
  const esbuild = await import("esbuild")
  /**
   * @param {string} file
   * @param {string} contents
   * @param {import("esbuild").BuildOptions} [own]
   * @param {import("esbuild").Plugin[]} plugins
   */
  const make = async (file, contents, own = {}, ...plugins) => {
    const stdin = { contents, resolveDir: ROOT, sourcefile: file }
    const outfile = join(BUNDLE_FOLDER, file)
    const made = await esbuild.build({ ...COMMON, ...own, stdin, plugins, outfile })
    return made.outputFiles ?? []
  }
  /** @type {Set<string>} */
  const lazyModules = new Set([PROCESS])
  const front = sourcesPlugin((path, text) => withLazyImports(path, text, lazyModules))
  const { metafile } = await esbuild.build({
    ...COMMON,
    entryPoints: [MAIN],
    outfile: BUNDLE_FILE,
    plugins: [front],
    metafile: true,
  })
  const shared = Object.keys(metafile.inputs).filter(
    (path) => path !== MAIN && SOURCE_FOLDERS.some((folder) => path.startsWith(`${folder}/`)),
  )
  const program = await make(
    PROGRAM,
    table(lazyModules, (path) => `() => import("./${path}")`),
    PROGRAM_WRAPPER,
    sharedPlugin(new Set(shared)),
    packagesPlugin,
    sourcesPlugin(),
  )
  const hash = createHash("sha256")
  for (const { contents } of program) hash.update(contents)
  const define = { PROGRAM_HASH: JSON.stringify(hash.digest("hex").slice(0, 16)) }
  const others = await Promise.all([
    make(
      "ledger.cjs",
      [
        STACKS_IMPORT,
        ...shared.map((path, index) => `import * as m${index} from "./${path}"`),
        table(shared, (_, index) => `m${index}`),
        'export { load } from "./src/bundle/program.ts"',
        `if (require.main === module) void import("./${MAIN}")`,
      ].join("\n"),
      { define },
      front,
    ),
    make("process.cjs", `require("./ledger.cjs").load(${JSON.stringify(PROCESS)})`),
    ...THREADS.map((path) =>
      make(ENTRIES[path] ?? "", `${STACKS_IMPORT}\nimport "./${path}"`, {}, sourcesPlugin()),
    ),
  ])
  return [...program, ...others.flat()]
}

/** Builds the bundle; the previous files stay until all new files are written. */
async function rebuild() {
  // The previous holder of the lock may have built it.
  if (isBundleFresh()) return
  const stamp = sourcesHash()
  const files = await makeBundle()
  mkdirSync(BUNDLE_FOLDER, { recursive: true })
  const draft = (/** @type {string} */ path) => `${path}.new`
  for (const { path, contents } of files) writeFileSync(draft(path), contents)
  rmSync(BUNDLE_STAMP, { force: true })
  for (const { path } of files) renameSync(draft(path), path)
  writeFileSync(BUNDLE_STAMP, stamp)
}

/**
 * Builds the bundle if it is missing or older than its sources.
 *
 * @returns {Promise<void>}
 * @throws errors of esbuild or the operating system
 */
export async function buildBundleIfNeeded() {
  if (!isBundleFresh()) await withLock(join(ROOT, ".build-lock"), rebuild)
}

/**
 * Builds the bundle if possible. Without it the program runs from its sources, which is slower.
 *
 * @returns {Promise<void>}
 */
export async function tryBuildBundle() {
  try {
    await buildBundleIfNeeded()
  } catch (error) {
    if (isUnwritable(error)) return
    const { message } = /** @type {Error} */ (error)
    process.stderr.write(
      `The bundle could not be built; the program runs from its sources. ${message}\n`,
    )
  }
}
