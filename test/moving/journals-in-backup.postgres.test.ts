/** Journals in a backup: what was done to a subject goes on where it was restored, in its order. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, expect, it } from "vitest"
import { readConfig } from "../../src/compose/config.ts"
import { restoreBackup } from "../../src/compose/restoring.ts"
import { writeBackup } from "../../src/moving/write-backup.ts"
import { testDatabase } from "../support/postgres.ts"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"

const NOW = Date.UTC(2031, 4, 6, 7, 8, 9, 123)
/** Of the same instant: only their places tell which was added last. */
const entry = (n: number) => ({ at: NOW, content: { n, line: "\u{1f4e6}\n" } })

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function database(): Promise<string> {
  const made = await testDatabase()
  closing.push(() => made.drop())
  return made.url
}

const journalOf = ({ ports }: World) =>
  ports.journal.of({ slice: "boxes", kind: "command", most: 3 })

it("holds journals, and they go on where it was restored", async () => {
  const world = await openWorld("start", { url: await database() })
  const { companyId } = await makeCompany(world)
  for (const n of [1, 2, 3]) await journalOf(world).add(companyId, "box_1", entry(n))
  const { backupSet: tables, store } = world.ports
  let text = ""
  await writeBackup({
    tables,
    store,
    progress: () => undefined,
    send: async (piece) => void (text += piece),
    signal: new AbortController().signal,
  })
  await world.close()

  const folder = await mkdtemp(join(tmpdir(), "ledger-journals-"))
  closing.push(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, "backup")
  await writeFile(file, text)
  const url = await database()
  const config = readConfig({ DATABASE_URL: url, LEDGER_DATA_DIR: join(folder, "data") })
  const talk = { progress: () => undefined, signal: new AbortController().signal }
  const log = { info: () => undefined, warn: () => undefined }
  expect(await restoreBackup(config, file, log, talk)).toMatchObject({ ok: true })
  const again = await openWorld("start", { url })
  closing.push(() => again.close())
  const journal = journalOf(again)
  expect(await journal.newest(companyId, "box_1", 9)).toEqual([entry(3), entry(2), entry(1)])
  await journal.add(companyId, "box_1", entry(4))
  expect(await journal.newest(companyId, "box_1", 9)).toEqual([entry(4), entry(3), entry(2)])
}, 60_000)
