import { readFileSync } from "node:fs"

const PACKAGE = new URL("../../../../package.json", import.meta.url)

/** The release that this program is, as its package says. */
export const RELEASE = String(
  (JSON.parse(readFileSync(PACKAGE, "utf8")) as { readonly version?: unknown }).version,
)
