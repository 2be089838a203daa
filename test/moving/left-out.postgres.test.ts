/** What backups and restores leave out of corrupt streams. */
import { randomUUID } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { readConfig } from "../../src/compose/config.ts"
import { restoreBackup } from "../../src/compose/restoring.ts"
import { provenStore } from "../../src/frame/writer/proven-store.ts"
import type { Restored } from "../../src/moving/operate/move-commands.ts"
import { writeBackup } from "../../src/moving/write-backup.ts"
import { collect } from "../contracts/event-store-fixture.ts"
import { testDatabase } from "../support/postgres.ts"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { TEXTS, lived } from "./lived.ts"
import { factsOf } from "./looking.ts"

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function database(): Promise<string> {
  const made = await testDatabase()
  closing.push(() => made.drop())
  return made.url
}

let folder: string
let file: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ledger-backup-"))
  closing.push(() => rm(folder, { recursive: true, force: true }))
  file = join(folder, "backup")
})

/** Writes a backup with the events that a store shows. */
async function backUp({ ports }: World, store: EventStore) {
  let text = ""
  const written = await writeBackup({
    tables: ports.backupSet,
    store,
    send: async (piece) => void (text += piece),
    progress: () => undefined,
    signal: new AbortController().signal,
  })
  await writeFile(file, text)
  return written
}

function restore({ url }: { readonly url: string }): Promise<Restored> {
  const settings = { DATABASE_URL: url, LEDGER_DATA_DIR: join(folder, "data") }
  const config = readConfig({ ...settings, LEDGER_CLOCK: "test" })
  const talk = { progress: () => undefined, signal: new AbortController().signal }
  return restoreBackup(config, file, { info: () => undefined, warn: () => undefined }, talk)
}

it("leaves out what is not proven, as does a restore of a backup that holds it, and both say so", async () => {
  const home = { url: await database() }
  const { world, companyId, key } = await lived(home)
  const { store, streams, pacer, corrupt } = world.ports
  const stream = `ledger-${companyId}`
  const last = (await collect(store.read(stream))).length - 1
  const foreign = { id: randomUUID(), type: "Other", data: "{}", metadata: "" }
  await store.append(stream, [foreign], last)
  const reason = 'an event of type "Other" that this program did not write stands there'
  const left = { stream, revision: last + 1, reason }

  // As backups were written before, and without the beginning of a stream.
  const second = (await collect(store.readAll())).find(
    (one) => one.stream.startsWith("recipient-") && one.revision === 1,
  )
  const cut = second?.stream ?? "none"
  await backUp(world, {
    ...store,
    readAll: async function* (range) {
      for await (const page of store.readAll(range)) {
        yield page.filter((one) => one.stream !== cut || one.revision > 0)
      }
    },
  })
  const former = { url: await database() }
  const { ok, leftOut } = await restore(former)
  expect(ok).toBe(false)
  expect(leftOut).toContainEqual({ ...left, events: 1 })
  // It is looked for in what was restored: the ends of all chains need not be in memory.
  const missing = { stream: cut, revision: 1, reason: "revision 0 before it is not shown" }
  expect(leftOut).toContainEqual({ ...missing, events: expect.any(Number) })

  const all = (await factsOf(store)).length
  const written = await backUp(
    world,
    provenStore(store, {
      streams,
      corrupt,
      pacer,
      onHeld: () => undefined,
    }),
  )
  expect(written.events).toBe(all - 1)
  await world.close()
  const place = { url: await database() }
  expect(await restore(place)).toMatchObject({ ok: false, leftOut: [{ ...left, events: 0 }] })
  const again = await openWorld("store", place)
  closing.push(() => again.close())
  expect((await again.operate("projections status")).corruptStreams).toEqual([left])
  const body = { to: "+14155550101", body: "hello" }
  expect(await again.call(key, "POST", TEXTS, { body })).toMatchObject({ status: 503 })
  const other = await makeCompany(again)
  expect(await again.call(other.key, "POST", TEXTS, { body })).toMatchObject({ status: 200 })

  expect(await again.operate("store release", { stream })).toMatchObject({
    released: true,
    revision: last,
    rebuilt: expect.arrayContaining(["charges", "accounts"]) as string[],
  })
  expect((await again.operate("projections status")).corruptStreams).toEqual([])
  expect(await again.call(key, "POST", TEXTS, { body })).toMatchObject({ status: 200 })
  await again.operate("wait")
  expect(await again.operate("projections verify")).toMatchObject({ ok: true })
})
