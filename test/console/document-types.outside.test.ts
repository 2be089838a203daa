/** The console's API types match the API document. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { execFileSync } from "node:child_process"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { ROOT } from "../conventions/source-tree.ts"

it("has types generated from the current API document (node bin/console-types.mjs generates them)", () => {
  const folder = mkdtempSync(join(tmpdir(), "console-types-"))
  try {
    const generated = join(folder, "document.d.ts")
    execFileSync(process.execPath, [join(ROOT, "bin", "console-types.mjs"), generated], {
      stdio: "pipe",
    })
    const committed = readFileSync(join(ROOT, "console", "api", "document.d.ts"), "utf8")
    expect(readFileSync(generated, "utf8") === committed).toBe(true)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
