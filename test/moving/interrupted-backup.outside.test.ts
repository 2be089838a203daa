/** Ctrl-C in the middle of a backup or a restore, at every moment of it: nothing of it is left. */
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { readPidFile } from "../../adapters/postgres/embedded/postmaster.ts"
import { readConfig } from "../../src/compose/config.ts"
import { restoreBackup } from "../../src/compose/restoring.ts"
import { lives } from "../support/embedded.ts"
import { appeared, interrupted } from "../support/interrupted.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"

const BEFORE = "the one before"

let home: Place
let folder: string
let file: string
beforeEach(async () => {
  home = await makePlace()
  folder = dirname(home.dataDir)
  file = join(folder, "cut.backup")
  await mkdir(home.dataDir, { mode: 0o700 })
  await writeFile(file, BEFORE)
})
afterEach(() => home.clear())

/** The file as it is written, beside its place. */
const TEMPORARY = ".cut.backup."
const appears = () => appeared(folder, TEMPORARY)
/** PostgreSQL says first who it is, and later that it takes connections. */
const comesUp = () => appeared(join(home.dataDir, "postgres"), "postmaster.pid")

/** Only the file of before is there, and no PostgreSQL runs, or soon none will. */
async function expectNothingLeft(): Promise<void> {
  expect((await readdir(folder)).toSorted()).toEqual(["cut.backup", "data"])
  expect(await readFile(file, "utf8")).toBe(BEFORE)
  const inData = await readdir(home.dataDir)
  expect(inData.filter((name) => name.startsWith("postgres.new-"))).toEqual([])
  await expect
    .poll(async () => {
      const left = await readPidFile(join(home.dataDir, "postgres"))
      return left !== undefined && lives(left.pid)
    })
    .toBe(false)
}

describe("a backup that is interrupted", () => {
  it("as its file appears, while PostgreSQL comes up, and while the file is written", async () => {
    await home.ledger("company", "create", "acme")
    const moments = [appears, comesUp, () => appeared(folder, TEMPORARY, "change")]
    for (const moment of moments) {
      const cut = await interrupted(home, ["backup", file], moment())
      expect(cut).toEqual({ code: 130, stderr: "Interrupted before it was done.\n" })
      await expectNothingLeft()
    }
    const whole = await home.ledger("backup", file)
    expect(whole).toMatchObject({ ok: true, file })
  })

  it("by two signals: the second one ends it at once", async () => {
    await home.ledger("company", "create", "acme")
    const cut = await interrupted(home, ["backup", file], comesUp(), ["SIGINT", "SIGTERM"])
    // Of two at the same moment the system chooses which comes second.
    expect(cut).toEqual({ code: expect.toBeOneOf([130, 143]), stderr: "" })
    await expectNothingLeft()
  })
})

it("a first start that is interrupted while PostgreSQL is made leaves nothing of it", async () => {
  const making = appeared(home.dataDir, "postgres.new-")
  const cut = await interrupted(home, ["company", "create", "acme"], making)
  expect(cut).toMatchObject({ code: 130, stderr: expect.stringMatching(/^Interrupted/) })
  await expectNothingLeft()
})

it("a restore that is interrupted while it checks its file blames no file", async () => {
  const log = { info: () => undefined, warn: () => undefined }
  const talk = { progress: () => undefined, signal: AbortSignal.abort() }
  const config = readConfig({ LEDGER_DATA_DIR: home.dataDir })
  await expect(restoreBackup(config, file, log, talk)).rejects.toBe(talk.signal.reason)
})
