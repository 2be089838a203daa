import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { CannotWrite } from "../../src/frame/operator/cli/out-file.ts"
import { openDataSet } from "./data-set.ts"

const WHICH = { name: "some", formatVersion: 1, empty: { rows: 0 } }
let dataDir = ""
let said: string[] = []
const report = (message: string) => said.push(message)

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "bench-data-"))
  said = []
})

afterEach(() => rm(dataDir, { recursive: true }))

/** Leaves data behind as a run does. */
async function leave(rows: number): Promise<void> {
  const first = await openDataSet(WHICH, { dataDir, report })
  await mkdir(first.databaseDir)
  await writeFile(join(first.databaseDir, "rows"), String(rows))
  await first.save({ rows })
  await first.release()
  said = []
}

describe("a data set", () => {
  it("is empty at first, and says so", async () => {
    const first = await openDataSet(WHICH, { dataDir, report })
    expect(first.contents()).toEqual({ rows: 0 })
    expect(said).toEqual(["some: no data yet"])
    await first.release()
  })

  it("has what the run before noted", async () => {
    await leave(7)
    const again = await openDataSet(WHICH, { dataDir, report })
    expect(again.contents()).toEqual({ rows: 7 })
    expect(await readFile(join(again.databaseDir, "rows"), "utf8")).toBe("7")
    expect(said).toEqual([])
    await again.release()
  })

  it("is created again if it is of another version of the code", async () => {
    await leave(7)
    const other = await openDataSet({ ...WHICH, formatVersion: 2 }, { dataDir, report })
    expect(other.contents()).toEqual({ rows: 0 })
    expect(said).toEqual(["some: written by another version, created again"])
    expect(await readdir(join(dataDir, "some"))).not.toContain("database")
    await other.release()
  })

  it("is created again if a database has no note", async () => {
    await leave(7)
    await rm(join(dataDir, "some", "data-set.json"))
    const again = await openDataSet(WHICH, { dataDir, report })
    expect(again.contents()).toEqual({ rows: 0 })
    expect(await readdir(join(dataDir, "some"))).not.toContain("database")
    await again.release()
  })

  it("serves one run at a time", async () => {
    const first = await openDataSet(WHICH, { dataDir, report })
    await expect(openDataSet(WHICH, { dataDir, report })).rejects.toThrow(CannotWrite)
    await first.release()
    const second = await openDataSet(WHICH, { dataDir, report })
    expect(second.contents()).toEqual({ rows: 0 })
    await second.release()
  })
})
