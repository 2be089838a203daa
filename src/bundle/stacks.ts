/**
 * Has every stack of this thread name the lines of the sources that the bundle was built of. A file of the bundle
 * imports it before all else; a map is read when a stack first needs it.
 */
import { existsSync, readFileSync } from "node:fs"
import { SourceMap } from "node:module"
import { dirname, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/** The folder of the bundle. */
const BUNDLE = fileURLToPath(new URL("../../dist/", import.meta.url))

/** The maps of the files that a stack has named so far; null for a file without one. */
const maps = new Map<string, SourceMap | null>()

Error.prepareStackTrace = (error, sites) =>
  [headOf(error), ...sites.map((site) => `    at ${lineOf(site)}`)].join("\n")

/** What V8 begins a stack with. */
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
  const found = mapOf(file)?.findOrigin(line, column)
  if (found === undefined || !("fileName" in found)) return shown
  const source = resolve(dirname(file), found.fileName)
  return shown.replace(
    `${file}:${line}:${column}`,
    () => `${source}:${found.lineNumber}:${found.columnNumber}`,
  )
}

function mapOf(file: string): SourceMap | null {
  const known = maps.get(file)
  if (known !== undefined) return known
  const path = `${file}.map`
  const map =
    file.startsWith(BUNDLE) && existsSync(path)
      ? new SourceMap(
          JSON.parse(readFileSync(path, "utf8")) as ConstructorParameters<typeof SourceMap>[0],
        )
      : null
  maps.set(file, map)
  return map
}
