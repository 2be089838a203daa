/** A whole backup with code in it, restored into another installation with another folder. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, expect, it } from "vitest"
import { openGit } from "../../adapters/git/git.ts"
import { readConfig } from "../../src/compose/config.ts"
import { restoreBackup } from "../../src/compose/restoring.ts"
import { writeBackup } from "../../src/moving/write-backup.ts"
import { query } from "../support/embedded.ts"
import { testDatabase } from "../support/postgres.ts"
import { makeCompany } from "../support/world.ts"
import { openCodeWorld } from "./code-world.ts"
import { bundleOf, workingCopy } from "./git.ts"

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

it("brings every repository back, empty ones too, and leaves no blob of them", async () => {
  const code = await openCodeWorld()
  closing.push(code.close)
  const { companyId } = await makeCompany(code.world)
  const other = await makeCompany(code.world)
  const copy = workingCopy(code.folder, { "a.txt": "one\n" })
  await code.world.operate("repository import", { company: companyId, file: bundleOf(copy) })
  await code.world.operate("repository create", { company: other.companyId })
  const { backupSet: tables, store, outsideInBackups } = code.world.ports
  const { signal } = new AbortController()
  const talk = { progress: () => undefined, signal }
  let text = ""
  const written = await writeBackup({
    tables,
    store,
    ...talk,
    putIn: async () => void closing.push(await outsideInBackups.putIn(talk.progress, signal)),
    send: async (piece) => void (text += piece),
  })
  const tips = await code.repositories.tips(companyId)
  expect(tips).toHaveLength(1)

  const folder = mkdtempSync(join(tmpdir(), "ledger-restored-"))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, "backup")
  writeFileSync(file, text)
  const database = await testDatabase()
  closing.push(database.drop)
  const dataDir = join(folder, "data")
  const settings = { DATABASE_URL: database.url, LEDGER_DATA_DIR: dataDir, LEDGER_CLOCK: "test" }
  const config = readConfig({ ...settings, CODE_DIR: join(folder, "code") })
  const log = { info: () => undefined, warn: () => undefined }
  const restored = await restoreBackup(config, file, log, talk)
  expect(restored).toMatchObject({ ok: true, rows: written.rows })
  const repositories = openGit({ codeDir: join(folder, "code") })
  expect(await repositories.tips(companyId)).toEqual(tips)
  expect(await repositories.has(other.companyId)).toBe(true)
  expect(await query(database.url, "select 1 from ledger.blobs")).toEqual([])
})
