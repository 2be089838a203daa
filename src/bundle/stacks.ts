/**
 * Makes every stack of this thread name the lines of the bundle's sources. Files of the bundle import it first; a
 * map is read when a stack first needs it.
 */
import { existsSync, readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import type { FindSourceLocation, SourceMapText } from "./line-map.ts"
import { openLineMap } from "./line-map.ts"

const BUNDLE = fileURLToPath(new URL("../../dist/", import.meta.url))

/** The maps of the files in stacks so far; null for a file without a map. */
const maps = new Map<string, FindSourceLocation | null>()

Error.prepareStackTrace = (error, sites) =>
  [headOf(error), ...sites.map((site) => `    at ${lineOf(site)}`)].join("\n")

/** The first line of a stack. */
function headOf(error: Error): string {
  try {
    return Error.prototype.toString.call(error)
  } catch {
    return "<error>"
  }
}

function lineOf(site: NodeJS.CallSite): string {
  const [file, line, column] = [site.getFileName(), site.getLineNumber(), site.getColumnNumber()]
  const shown = String(site)
  if (file === null || file === undefined || line === null || column === null) return shown
  const origin = mapOf(file)?.(line, column) ?? null
  if (origin === null) return shown
  const source = resolve(dirname(file), origin.source)
  return shown.replace(
    `${file}:${line}:${column}`,
    () => `${source}:${origin.line}:${origin.column}`,
  )
}

function mapOf(file: string): FindSourceLocation | null {
  const known = maps.get(file)
  if (known !== undefined) return known
  const path = `${file}.map`
  const isMapped = file.startsWith(BUNDLE) && existsSync(path)
  const map = isMapped ? openLineMap(JSON.parse(readFileSync(path, "utf8")) as SourceMapText) : null
  maps.set(file, map)
  return map
}
