/** The types by which the console knows the API are those of its document. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { execFileSync } from "node:child_process"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { ROOT } from "../conventions/source-tree.ts"

it("knows the API by its document as it is: node bin/console-types.mjs makes them anew", () => {
  const folder = mkdtempSync(join(tmpdir(), "console-types-"))
  try {
    const made = join(folder, "document.d.ts")
    execFileSync(process.execPath, [join(ROOT, "bin", "console-types.mjs"), made], {
      stdio: "pipe",
    })
    const kept = readFileSync(join(ROOT, "console", "api", "document.d.ts"), "utf8")
    expect(readFileSync(made, "utf8") === kept).toBe(true)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
