/** Blobs in a backup: whole ones come back to the byte, and none is ever held whole. */
import { randomBytes } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, expect, it } from "vitest"
import { CHUNK_BYTES } from "../../adapters/blobs/port.ts"
import { openBackupSet } from "../../adapters/installation/backup-set.ts"
import type { TableRows } from "../../adapters/installation/port.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import { readConfig } from "../../src/compose/config.ts"
import { restoreBackup } from "../../src/compose/restoring.ts"
import { writeBackup } from "../../src/moving/write-backup.ts"
import { MUCH, WHOSE, heldSource, inPieces, readAll } from "../contracts/blobs-fixture.ts"
import { query } from "../support/embedded.ts"
import { testDatabase } from "../support/postgres.ts"
import { makeCompany, openWorld } from "../support/world.ts"

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function database(): Promise<string> {
  const made = await testDatabase()
  closing.push(() => made.drop())
  return made.url
}

it("holds whole blobs, and they are read where it was restored", async () => {
  const world = await openWorld("start", { url: await database() })
  const { companyId } = await makeCompany(world)
  const { blobs, backupSet, store } = world.ports
  const contents = [randomBytes(9 * CHUNK_BYTES + 77), Buffer.alloc(0), randomBytes(5)]
  for (const [i, bytes] of contents.entries()) {
    await blobs.write({ ...WHOSE, companyId, blobId: `rec_${i}` }, inPieces(bytes), MUCH)
  }
  const half = heldSource()
  const writing = blobs.write({ ...WHOSE, companyId, blobId: "rec_half" }, half.source, MUCH)
  await half.given
  let text = ""
  const written = await writeBackup({
    tables: backupSet,
    store,
    progress: () => undefined,
    send: async (piece) => void (text += piece),
    signal: new AbortController().signal,
  })
  half.goOn()
  await writing
  await world.close()
  expect(text).toMatch(/ blobs 3 \[/)

  const folder = await mkdtemp(join(tmpdir(), "ledger-blobs-"))
  closing.push(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, "backup")
  await writeFile(file, text)
  const url = await database()
  const config = readConfig({ DATABASE_URL: url, LEDGER_DATA_DIR: join(folder, "data") })
  const talk = { progress: () => undefined, signal: new AbortController().signal }
  const log = { info: () => undefined, warn: () => undefined }
  const restored = await restoreBackup(config, file, log, talk)
  expect(restored).toMatchObject({ ok: true, rows: written.rows })
  expect(await query(url, "select 1 from ledger.blob_chunks")).toHaveLength(10 + 0 + 1)
  const again = await openWorld("start", { url })
  closing.push(() => again.close())
  for (const [i, bytes] of contents.entries()) {
    const found = await again.ports.blobs.find(companyId, `rec_${i}`)
    expect((await readAll(found)).equals(bytes), `blob ${i}`).toBe(true)
  }
  expect(await again.ports.blobs.find(companyId, "rec_half")).toBeNull()
}, 60_000)

it("holds some chunks of a blob at once, and PostgreSQL does not put them all aside to sort them", async () => {
  const url = await database()
  // Whoever put them all aside, to sort them, would go beyond it.
  const limit = `alter database ${new URL(url).pathname.slice(1)} set temp_file_limit = '1MB'`
  await query(url, limit)
  const pool = openPool(url, 2, () => undefined)
  closing.push(() => pool.end())
  const fill = `
    with made as (
      insert into ledger.blobs (edition, company_id, subject, blob_id, length, mark)
      select gen_random_uuid(), 'co_aaaaaa', 'company', 'rec_' || i, 1, 'mark'
      from generate_series(1, 40) i returning edition)
    insert into ledger.blob_chunks
    select edition, i, convert_to(repeat('x', 65536), 'UTF8') from made, generate_series(0, 24) i`
  await pool.query(fill)
  const blocks: Pick<TableRows, "name" | "count">[] = []
  let longest = 0
  for await (const { name, count, json } of openBackupSet(pool, []).read("after")) {
    blocks.push({ name, count })
    longest = Math.max(longest, json.length)
  }
  const chunks = blocks.filter(({ name }) => name === "blob_chunks")
  expect(chunks.reduce((sum, { count }) => sum + count, 0)).toBe(1_000)
  expect(longest).toBeLessThan(3 * CHUNK_BYTES)
}, 60_000)
