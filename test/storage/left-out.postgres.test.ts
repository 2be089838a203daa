/** Parts of a backup: unproven events are left out; activity logs and blobs are included. */
import { randomUUID, randomBytes } from "node:crypto"
import { expect, it } from "vitest"
import { provenStore } from "../../src/frame/writer/proven-store.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { MESSAGES_PATH, makeUsedInstallation, openBackups } from "./used-installation.ts"
import { storedEventsOf } from "./store-contents.ts"
import { CHUNK_BYTES } from "../../adapters/postgres/blobs/port.ts"
import { openBackupTableReader } from "../../adapters/postgres/installation/backup-tables.ts"
import type { TableRowBatch } from "../../adapters/postgres/installation/port.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import {
  LARGE_BLOB_LIMIT,
  BLOB_OWNER,
  pausedSource,
  bytesInPieces,
  readWholeBlob,
} from "../contracts/blobs-fixture.ts"
import { queryRows } from "../support/embedded-postgres.ts"

const { closing, database, backUp, restore } = openBackups()

it("leaves out unproven events, in a backup and in a restore, and reports them", async () => {
  const home = { url: await database() }
  const { world, companyId, key } = await makeUsedInstallation(home)
  const { store, streams, pacer, corruptList } = world.ports
  const stream = `ledger-${companyId}`
  const last = (await collectEvents(store.read(stream))).length - 1
  const foreign = { id: randomUUID(), type: "Other", data: "{}", metadata: "" }
  await store.append(stream, [foreign], last)
  const reason = 'found an event of type "Other" that this program did not write'
  const left = { stream, revision: last + 1, reason }

  // A backup in the former way, with the unproven event, and without the first event of another stream.
  const second = (await collectEvents(store.readAll())).find(
    (one) => one.stream.startsWith("recipient-") && one.revision === 1,
  )
  const truncated = second?.stream ?? "none"
  const readTruncated: typeof store.readAll = async function* (range) {
    for await (const page of store.readAll(range)) {
      yield page.filter((one) => one.stream !== truncated || one.revision > 0)
    }
  }
  await backUp(world, { store: { ...store, readAll: readTruncated } })
  const former = { url: await database() }
  const { ok, leftOut } = await restore(former)
  expect(ok).toBe(false)
  expect(leftOut).toContainEqual({ ...left, events: 1 })
  // The restore looks for the missing event in the restored ones, because it does not keep all chain ends in memory.
  const missing = { stream: truncated, revision: 1, reason: "revision 0 is missing" }
  expect(leftOut).toContainEqual({ ...missing, events: expect.any(Number) })

  const all = (await storedEventsOf(store)).length
  const proven = provenStore(store, { streams, corruptList, pacer, onHeldBack: () => undefined })
  const written = await backUp(world, { store: proven })
  expect(written.events).toBe(all - 1)
  await world.close()
  const location = { url: await database() }
  expect(await restore(location)).toMatchObject({ ok: false, leftOut: [{ ...left, events: 0 }] })
  const again = await openWorld("store", location)
  closing.push(() => again.close())
  expect((await again.operate("projections status")).corruptStreams).toEqual([left])
  const body = { to: "+14155550101", body: "hello" }
  expect(await again.call(key, "POST", MESSAGES_PATH, { body })).toMatchObject({ status: 503 })
  const other = await makeCompany(again)
  expect(await again.call(other.key, "POST", MESSAGES_PATH, { body })).toMatchObject({
    status: 200,
  })

  expect(await again.operate("store release", { stream })).toMatchObject({
    released: true,
    revision: last,
    rebuilt: expect.arrayContaining(["charges", "accounts"]) as string[],
  })
  expect((await again.operate("projections status")).corruptStreams).toEqual([])
  expect(await again.call(key, "POST", MESSAGES_PATH, { body })).toMatchObject({ status: 200 })
  await again.operate("wait")
  expect(await again.operate("projections verify")).toMatchObject({ ok: true })
})

const NOW = Date.UTC(2031, 4, 6, 7, 8, 9, 123)
/** Entries with the same time: only their order tells which was added last. */
const entry = (n: number) => ({ at: NOW, content: { n, line: "\u{1f4e6}\n" } })

const activityLogOf = ({ ports }: World) =>
  ports.activityLog.of({ slice: "boxes", kind: "command", maxEntries: 3 })

it("includes activity logs, which continue after a restore", async () => {
  const world = await openWorld("start", { url: await database() })
  const { companyId } = await makeCompany(world)
  for (const n of [1, 2, 3]) await activityLogOf(world).add(companyId, "box_1", entry(n))
  await backUp(world)
  await world.close()

  const url = await database()
  expect(await restore({ url })).toMatchObject({ ok: true })
  const again = await openWorld("start", { url })
  closing.push(() => again.close())
  const activityLog = activityLogOf(again)
  expect(await activityLog.newest(companyId, "box_1", 9)).toEqual([entry(3), entry(2), entry(1)])
  await activityLog.add(companyId, "box_1", entry(4))
  expect(await activityLog.newest(companyId, "box_1", 9)).toEqual([entry(4), entry(3), entry(2)])
}, 60_000)

it("includes completely written blobs, which are readable after a restore", async () => {
  const world = await openWorld("start", { url: await database() })
  const { companyId } = await makeCompany(world)
  const { blobs } = world.ports
  const contents = [randomBytes(9 * CHUNK_BYTES + 77), Buffer.alloc(0), randomBytes(5)]
  for (const [i, bytes] of contents.entries()) {
    await blobs.write(
      { ...BLOB_OWNER, companyId, blobId: `rec_${i}` },
      bytesInPieces(bytes),
      LARGE_BLOB_LIMIT,
    )
  }
  const half = pausedSource()
  const writing = blobs.write(
    { ...BLOB_OWNER, companyId, blobId: "rec_half" },
    half.source,
    LARGE_BLOB_LIMIT,
  )
  await half.given
  const { text, rows } = await backUp(world)
  half.goOn()
  await writing
  await world.close()
  expect(text).toMatch(/ blobs 3 \[/)

  const url = await database()
  expect(await restore({ url })).toMatchObject({ ok: true, rows })
  expect(await queryRows(url, "select 1 from ledger.blob_chunks")).toHaveLength(10 + 0 + 1)
  const again = await openWorld("start", { url })
  closing.push(() => again.close())
  for (const [i, bytes] of contents.entries()) {
    const found = await again.ports.blobs.find(companyId, `rec_${i}`)
    expect((await readWholeBlob(found)).equals(bytes), `blob ${i}`).toBe(true)
  }
  expect(await again.ports.blobs.find(companyId, "rec_half")).toBeNull()
}, 60_000)

it("reads a few chunks of a blob at a time, without a sort on disk", async () => {
  const url = await database()
  // A sort of all chunks on disk would exceed this limit.
  const limit = `alter database ${new URL(url).pathname.slice(1)} set temp_file_limit = '1MB'`
  await queryRows(url, limit)
  const pool = openPool(url, 2, () => undefined)
  closing.push(() => pool.end())
  const fill = `
    with made as (
      insert into ledger.blobs (version_id, company_id, subject, blob_id, length, digest)
      select gen_random_uuid(), 'co_aaaaaa', 'company', 'rec_' || i, 1, 'mark'
      from generate_series(1, 40) i returning version_id)
    insert into ledger.blob_chunks
    select version_id, i, convert_to(repeat('x', 65536), 'UTF8') from made, generate_series(0, 24) i`
  await pool.query(fill)
  const blocks: Pick<TableRowBatch, "name" | "count">[] = []
  let longestBatch = 0
  for await (const { name, count, json } of openBackupTableReader(pool, []).read("after")) {
    blocks.push({ name, count })
    longestBatch = Math.max(longestBatch, json.length)
  }
  const chunks = blocks.filter(({ name }) => name === "blob_chunks")
  expect(chunks.reduce((sum, { count }) => sum + count, 0)).toBe(1_000)
  expect(longestBatch).toBeLessThan(3 * CHUNK_BYTES)
}, 60_000)
