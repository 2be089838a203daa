// Builds the program as JavaScript in `dist/`, with source maps.
//
// `ledger.cjs` is the command line, `program.cjs` everything else. A command that a running server answers loads
// only the first. The other files are where processes and threads begin.

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
/** Modules by their path: a build puts the table of those that the catalogue names in its place. */
const MODULES = "src/modules.ts"
/** The command line draws tables of what a server answers. */
const RENDERER = "src/frame/operator/cli/render.ts"
/** Where a process or a thread begins, and the file of `dist/` that it runs. @type {Record<string, string>} */
const ENTRIES = {
  "src/bootstrap/processes/main.ts": "process.cjs",
  "adapters/git/secret-scan/worker.ts": "secret-scan.cjs",
  "src/registration/page-thread.ts": "page-thread.cjs",
}
const PROCESS = "src/bootstrap/processes/main.ts"
const THREADS = Object.keys(ENTRIES).filter((path) => path !== PROCESS)

/** Packages that stay files of their own: they read files beside them, may be absent, or are needed seldom. */
const EXTERNAL = [
  "@eventstore/db-client",
  "@grpc/grpc-js",
  "@secretlint/*",
  "pdfkit",
  "pg-native",
  "stripe",
]

/** A file's path as the bundle names it. @param {string} path */
const nameOf = (path) => relative(ROOT, path).replaceAll(sep, "/")

/**
 * What stands for a module's own address in each file of the bundle: the place of its source, next to which
 * are the files that it reads.
 */
const BANNER = `"use strict";const __root=require("node:path").dirname(__dirname),__url=require("node:url").pathToFileURL(__root+"/").href;`

/** A worker or a process: its address is that of a file of the bundle. */
const ADDRESS = /new URL\("(\.\.?\/[^"]+\.ts)", import\.meta\.url\)/g

/** A source with the addresses that its parts have in the bundle. @param {string} path @param {string} text */
function withBundleAddresses(path, text) {
  const name = JSON.stringify(path)
  return text
    .replaceAll(ADDRESS, (whole, to) => {
      const target = nameOf(resolve(ROOT, dirname(path), to))
      const file = ENTRIES[target]
      if (file !== undefined) return `new URL(${JSON.stringify(`dist/${file}`)}, __url)`
      // The benchmarks are for checkouts.
      if (target.startsWith("bench/")) return whole
      throw new Error(`${path} names ${target}, which is no file of the bundle: add it to ENTRIES`)
    })
    .replaceAll("import.meta.url", `(__url + ${name})`)
    .replaceAll("import.meta.dirname", `require("node:path").join(__root, ${name}, "..")`)
}

/** The modules that the catalogue names, by their paths below `src/`. */
function catalogueModules() {
  const { settings, providers, commands } = JSON.parse(
    readFileSync(join(ROOT, "src", "catalogue.json"), "utf8"),
  )
  const froms = commands.flatMap((/** @type {{from?: string}} */ { from }) => from ?? [])
  return [...new Set([...settings, ...providers, ...froms])]
}

/** `src/modules.ts` as the bundle has it. */
function modulesText() {
  const lines = catalogueModules().map(
    (path) => `${JSON.stringify(path)}: () => import("./${path}")`,
  )
  return `const MODULES = {${lines.join(",")}}\nexport const moduleAt = (path) => MODULES[path]()`
}

/** A module that is loaded only once it is needed. */
const DYNAMIC_IMPORT = /\bimport\("(\.\.?\/[^"]+\.ts)"\)/g

/**
 * The command line, which takes what it loads later from the program.
 *
 * @param {string} path
 * @param {string} text
 * @param {Set<string>} asked takes the paths of those modules
 */
function withLazyImports(path, text, asked) {
  const replaced = text.replaceAll(DYNAMIC_IMPORT, (whole, to) => {
    const target = nameOf(resolve(ROOT, dirname(path), to))
    if (target === RENDERER) return whole
    asked.add(target)
    return `__load(${JSON.stringify(target)})`
  })
  const loader = JSON.stringify(`${ROOT}/src/bundle/program.ts`)
  return replaced === text ? text : `import { load as __load } from ${loader};${replaced}`
}

/** A package that reads files next to its own, wherever it is bundled. */
const WITH_FILES = "@fastify/swagger-ui"

/** Tells that package where it is, and leaves out what no package needs. @type {import("esbuild").Plugin} */
const packagesPlugin = {
  name: "packages",
  setup: (build) => {
    // All messages of the API are English.
    build.onLoad({ filter: /node_modules\/zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js"',
    }))
    build.onLoad({ filter: new RegExp(`node_modules/${WITH_FILES}/.*\\.js$`) }, ({ path }) => {
      const place = relative(join(ROOT, "node_modules", WITH_FILES), dirname(path))
      const found = `require("node:path").dirname(require.resolve("${WITH_FILES}/package.json"))`
      const folder = `require("node:path").join(${found}, ${JSON.stringify(place)})`
      return { contents: readFileSync(path, "utf8").replaceAll("__dirname", folder), loader: "js" }
    })
  },
}

/**
 * Reads the project's own modules.
 *
 * @param {(path: string, text: string) => string} [change] what else becomes of a source
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
 * Gives the program the modules that the command line has loaded before, so that there is one of each.
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

/** A table of modules. @param {Iterable<string>} paths @param {(path: string, place: number) => string} valueOf */
const table = (paths, valueOf) =>
  `export const modules = {${[...paths].map((path, place) => `${JSON.stringify(path)}: ${valueOf(path, place)}`).join(",")}}`

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
  // A text of ASCII alone is half as large in memory: comments have other letters.
  minifyWhitespace: true,
  lineLimit: 120,
  legalComments: "none",
  sourcemap: "linked",
  sourcesContent: false,
  write: false,
  // What it finds is in the error that it throws.
  logLevel: "silent",
}

const PROGRAM = "program.cjs"
/** It is a function, for it is loaded with the code that V8 made of it: `src/bundle/program.ts`. */
const PROGRAM_WRAPPER = {
  banner: { js: `(function(require,module,__dirname){${BANNER}` },
  footer: { js: "})" },
}

/**
 * Makes all files of the bundle.
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
  const later = new Set([PROCESS])
  const front = sourcesPlugin((path, text) => withLazyImports(path, text, later))
  const { metafile } = await esbuild.build({
    ...COMMON,
    entryPoints: [MAIN],
    outfile: BUNDLE_FILE,
    plugins: [front],
    metafile: true,
  })
  const shared = Object.keys(metafile.inputs).filter(
    (path) => path !== MAIN && SOURCE_FOLDERS.some((room) => path.startsWith(`${room}/`)),
  )
  const program = await make(
    PROGRAM,
    table(later, (path) => `() => import("./${path}")`),
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
        ...shared.map((path, place) => `import * as m${place} from "./${path}"`),
        table(shared, (_, place) => `m${place}`),
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

/** Builds the bundle; the files of the last one stay until all new ones are there. */
async function rebuild() {
  // Whoever held the lock before may have done the work already.
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
 * Builds the bundle where it is absent or older than its sources.
 *
 * @returns {Promise<void>}
 * @throws the error of the builder, or of the operating system
 */
export async function buildBundleIfNeeded() {
  if (!isBundleFresh()) await withLock(join(ROOT, ".build-lock"), rebuild)
}

/**
 * Builds it where that can be done. The program runs from its sources without it, which takes longer.
 *
 * @returns {Promise<void>}
 */
export async function tryBuildBundle() {
  try {
    await buildBundleIfNeeded()
  } catch (error) {
    if (isUnwritable(error)) return
    const { message } = /** @type {Error} */ (error)
    process.stderr.write(`The program runs from its sources: it was not bundled. ${message}\n`)
  }
}
