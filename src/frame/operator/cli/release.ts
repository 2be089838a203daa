import { readFileSync } from "node:fs"
import { z } from "zod"

const PACKAGE = new URL("../../../../package.json", import.meta.url)

/** The release that this program is, as its package says. */
export const RELEASE: string = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(PACKAGE, "utf8"))).version
