// Writes the program as JavaScript into `dist/`, in the same folders as its sources. Types become spaces, so
// that the lines of a stack are those of the sources.

import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { dirname, join, posix, relative, sep } from "node:path"
import { ROOT } from "./node.mjs"

/** The rooms that the program is made of. */
const ROOMS = ["domain", "projections", "adapters", "src"]
const OUT = join(ROOT, "dist")
/** Is read as it is, and loses its types where it is laid for boxes. */
const KEEPER = "adapters/providers/boxhost/bubblewrap/keeper/"
/** What only developers use. */
const LEFT_OUT = new Set([
  "domain/tsconfig.json",
  "src/write-catalogue.ts",
  "src/write-document.ts",
])
/** A path from a file to another one, where Node looks for that: an import, or the address of a file. */
const PATHS = /(\bfrom\s+|\bimport\s*\(?\s*|\bnew URL\(\s*)(["'])(\.\.?\/[^"'\n]*)\2/g

/** All files of the rooms, by their paths with slashes. */
function files() {
  return ROOMS.flatMap((room) =>
    readdirSync(join(ROOT, room), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll(sep, "/")),
  ).filter((path) => !LEFT_OUT.has(path))
}

/** A path in a file, as it is in `dist/`. @param {string} file @param {string} path */
function moved(file, path) {
  const target = posix.join(posix.dirname(file), path)
  const isInside = target === "" || ROOMS.some((room) => `${target}/`.startsWith(`${room}/`))
  // What is beside the rooms, such as package.json, is one folder further up.
  return isInside ? path.replace(/\.ts$/, ".js") : `../${path}`
}

/** A source as JavaScript. @param {string} file @param {string} source */
function javaScriptOf(file, source) {
  return stripTypeScriptTypes(source).replaceAll(
    PATHS,
    (_, before, quote, path) => `${before}${quote}${moved(file, path)}${quote}`,
  )
}

/** Writes one of them. @param {string} file */
function write(file) {
  const from = join(ROOT, file)
  const to = join(OUT, file)
  mkdirSync(dirname(to), { recursive: true })
  if (!file.endsWith(".ts") || file.startsWith(KEEPER)) copyFileSync(from, to)
  if (file.endsWith(".ts")) {
    writeFileSync(to.replace(/\.ts$/, ".js"), javaScriptOf(file, readFileSync(from, "utf8")))
  }
  // It names modules of the program.
  if (file === "src/catalogue.json") {
    writeFileSync(to, readFileSync(from, "utf8").replaceAll('.ts"', '.js"'))
  }
}

rmSync(OUT, { recursive: true, force: true })
files().forEach(write)
