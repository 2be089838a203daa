/** Resolves a path to a file of a static site by a look-up in its manifest, so no path can leave the site. */
import type { ArtifactFile } from "../artifacts.ts"

export type SiteFiles = ReadonlyMap<string, ArtifactFile>

/** Result of a look-up. */
export type FileLookup =
  | { readonly kind: "file"; readonly name: string }
  /** A folder that was requested without its slash; `to` is a relative redirect. */
  | { readonly kind: "folder"; readonly to: string }
  | { readonly kind: "nothing" }
  /** The path is not validly encoded. */
  | { readonly kind: "wrong" }

const NOTHING = { kind: "nothing" } as const
const INDEX = "index.html"

/** Looks a path up. @param target the request target, with its query */
export function findSiteFile(files: SiteFiles, target: string): FileLookup {
  const query = target.indexOf("?")
  const sent = query === -1 ? target : target.slice(0, query)
  const path = decodePath(sent)
  if (path === null) return { kind: "wrong" }
  if (!path.startsWith("/") || isHidden(path)) return NOTHING
  const name = path.slice(1)
  if (name === "" || name.endsWith("/")) {
    const index = `${name}${INDEX}`
    return files.has(index) ? { kind: "file", name: index } : NOTHING
  }
  const match = [name, `${name}.html`].find((one) => files.has(one))
  if (match !== undefined) return { kind: "file", name: match }
  if (!files.has(`${name}/${INDEX}`)) return NOTHING
  const last = encodeURIComponent(name.slice(name.lastIndexOf("/") + 1))
  return { kind: "folder", to: `./${last}/${query === -1 ? "" : target.slice(query)}` }
}

/** Decodes once: a doubly encoded path means a name with a percent sign. */
function decodePath(path: string): string | null {
  if (!path.includes("%")) return path
  try {
    return decodeURIComponent(path)
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
}

/** Whether a path has a part that starts with a dot; such files are for programs, except `.well-known`. */
function isHidden(path: string): boolean {
  return path.includes("/.") && !/^\/\.well-known\/(?!.*\/\.)(?!\.)/s.test(path)
}

/** Whether a name has a content hash, as bundlers write it: then the file never changes. */
export function isContentHashed(name: string): boolean {
  const [, part = "", ending = ""] = /[.-]([\w-]{8,64})\.(\w{1,8})$/.exec(name) ?? []
  const hash = part.slice(part.lastIndexOf("-") + 1)
  if (/^html?$/.test(ending)) return false
  if (/^(?=.*[a-f])(?=.*\d)[\da-f]{8,}$/.test(hash)) return true
  // Mixed case and digits: people may name a picture like this, but hardly a script.
  return BUNDLED.test(ending) && /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)\w{8,}$/.test(hash)
}

const BUNDLED = /^(?:js|mjs|css|wasm|woff2)$/
