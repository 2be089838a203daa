/** Which file of a static site a path means: a look-up in its manifest, so that there is nothing to leave. */
import type { ArtifactFile } from "../artifacts.ts"

/** The files of a site, by their paths. */
export type SiteFiles = ReadonlyMap<string, ArtifactFile>

/** What a path leads to. */
export type FileLookup =
  | { readonly kind: "file"; readonly name: string }
  /** A folder that was asked for without its slash; `to` is relative, and so of the same host. */
  | { readonly kind: "folder"; readonly to: string }
  | { readonly kind: "nothing" }
  /** Its encoding is none. */
  | { readonly kind: "wrong" }

const NOTHING = { kind: "nothing" } as const
const INDEX = "index.html"

/** Finds it. @param target as it was sent, with its query */
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
  const own = [name, `${name}.html`].find((one) => files.has(one))
  if (own !== undefined) return { kind: "file", name: own }
  if (!files.has(`${name}/${INDEX}`)) return NOTHING
  const last = encodeURIComponent(name.slice(name.lastIndexOf("/") + 1))
  return { kind: "folder", to: `./${last}/${query === -1 ? "" : target.slice(query)}` }
}

/** Once and no more: what is encoded twice means a name with a percent sign in it. */
function decodePath(path: string): string | null {
  if (!path.includes("%")) return path
  try {
    return decodeURIComponent(path)
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
}

/** Whether a path is of a file that begins with a dot, which is there for programs and not for visitors. */
function isHidden(path: string): boolean {
  return path.includes("/.") && !/^\/\.well-known\/(?!.*\/\.)(?!\.)/s.test(path)
}

/** Whether a name holds a hash of what is in the file, as bundlers make them: then it never changes. */
export function isContentHashed(name: string): boolean {
  const [, part = "", ending = ""] = /[.-]([\w-]{8,64})\.(\w{1,8})$/.exec(name) ?? []
  const hash = part.slice(part.lastIndexOf("-") + 1)
  if (/^html?$/.test(ending)) return false
  if (/^(?=.*[a-f])(?=.*\d)[\da-f]{8,}$/.test(hash)) return true
  // Mixed as no word is; people may call a picture so, but hardly a program.
  return BUNDLED.test(ending) && /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)\w{8,}$/.test(hash)
}

const BUNDLED = /^(?:js|mjs|css|wasm|woff2)$/
