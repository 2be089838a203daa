/** A program does not change a data folder of a newer version. */
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { makeDataFolder } from "../support/server-process.ts"

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

describe("an installation of a newer version", () => {
  it("is rejected with the fix before any of its files is opened", async () => {
    const folder = await makeDataFolder()
    closing.push(() => folder.removeFiles())
    await mkdir(folder.dataDir, { recursive: true })
    const identity = join(folder.dataDir, "folder.json")
    const later = JSON.stringify({ form: 2, folderId: "abc" })
    await writeFile(identity, later)
    const newer = await folder.tryCommand("company", "list", "--json")
    expect(newer.code).toBe(1)
    expect(JSON.parse(newer.stdout)).toEqual({
      error: "startup",
      message: expect.stringMatching(
        /was created by a newer version of company-ledger\. Start that version, or set LEDGER_DATA_DIR/,
      ) as string,
    })
    expect(await readFile(identity, "utf8")).toBe(later)
    await writeFile(identity, "{")
    const corrupt = await folder.tryCommand("company", "list")
    expect(corrupt).toMatchObject({ code: 1 })
    expect(corrupt.stderr).toMatch(/is corrupt or was created by another version/)
  })
})
