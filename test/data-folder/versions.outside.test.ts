/** A data folder of a newer version is left alone. */
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { makeDataFolder } from "../support/server-process.ts"

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

describe("an installation of a newer version", () => {
  it("is refused by its data folder, with the fix, before anything of it is opened", async () => {
    const place = await makeDataFolder()
    closing.push(() => place.removeFiles())
    await mkdir(place.dataDir, { recursive: true })
    const identity = join(place.dataDir, "folder.json")
    const later = JSON.stringify({ form: 2, folderId: "abc" })
    await writeFile(identity, later)
    const ran = await place.tryCommand("company", "list", "--json")
    expect(ran.code).toBe(1)
    expect(JSON.parse(ran.stdout)).toEqual({
      error: "startup",
      message: expect.stringMatching(
        /was created by a newer version of company-ledger\. Start that version, or set LEDGER_DATA_DIR/,
      ) as string,
    })
    expect(await readFile(identity, "utf8")).toBe(later)
    await writeFile(identity, "{")
    const damaged = await place.tryCommand("company", "list")
    expect(damaged).toMatchObject({ code: 1 })
    expect(damaged.stderr).toMatch(/is corrupt or was created by another version/)
  })
})
