/**
 * Another program wrote to streams of some companies: these streams are held back and listed, and everything else
 * keeps working.
 */
import { randomUUID } from "node:crypto"
import { afterAll, beforeAll, expect, it, vi } from "vitest"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"
import type { ProposedEvent, StoredEvent } from "../../adapters/eventstore/port.ts"
import type { LeftOutStream } from "../../src/storage/write-backup.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"

const TEXTS = "/api/v1/phone/messages"

/** Foreign events that are appended to a ledger. */
const WRITTEN: Readonly<Record<string, (last: StoredEvent) => Partial<ProposedEvent>>> = {
  "an event of another program": () => ({ type: "Other", data: "{}", metadata: "" }),
  "metadata of another form": () => ({ type: "Other", data: "{}", metadata: '{"user":"me"}' }),
  "an invalid body": ({ type, metadata }) => ({ type, data: "{}", metadata }),
  "a fact of another revision": ({ type, data, metadata }) => ({ type, data, metadata }),
}

let world = await openWorld("start")
const healthy = await makeCompany(world)
const corrupt = new Map<string, Company>()

async function sendText(company: Company) {
  const body = { to: "+14155550123", body: "hello" }
  return world.call(company.key, "POST", TEXTS, { body })
}

beforeAll(async () => {
  for (const [kind, writtenAfter] of Object.entries(WRITTEN)) {
    const company = await makeCompany(world)
    await sendText(company)
    await world.operate("wait")
    corrupt.set(kind, company)
    const { stream } = ledgerStreamOf(company.companyId)
    const last = (await collectEvents(world.ports.store.read(stream))).at(-1) as StoredEvent
    const written = { id: randomUUID(), ...writtenAfter(last) } as ProposedEvent
    await world.ports.store.append(stream, [written], last.revision)
  }
})
afterAll(async () => {
  await world.close()
})

it("texts of other companies are charged and sent", async () => {
  expect(await sendText(healthy)).toMatchObject({ status: 200 })
  await world.operate("wait")
  const { body } = await world.call(healthy.key, "GET", TEXTS)
  expect(body.messages).toMatchObject([{ status: "sent" }])
  const { projections } = await world.operate("projections status")
  const stopped = projections.filter(({ state }: { state: string }) => state !== "running")
  expect(stopped).toEqual([])
})

/** The listed reasons of the corrupt streams, by the kind of foreign event. */
async function listedReasons(): Promise<Record<string, unknown>> {
  const { corruptStreams } = await world.operate("projections status")
  expect(corruptStreams).toHaveLength(corrupt.size)
  return Object.fromEntries(
    [...corrupt].map(([kind, { companyId }]) => {
      const { stream } = ledgerStreamOf(companyId)
      return [kind, corruptStreams.find((one: { stream: string }) => one.stream === stream)?.reason]
    }),
  )
}

const REASONS = {
  "an event of another program": `found an event of type "Other" that this program did not write`,
  "metadata of another form": `found an event of type "Other" that this program did not write`,
  "an invalid body": `found an event of type "ChargesSettled" whose data is malformed`,
  "a fact of another revision": expect.stringMatching(
    /^expected the hash \w+, found the hash \w+$/,
  ),
}

it("a command on a corrupt stream is rejected with stream_corrupt", async () => {
  for (const company of corrupt.values()) {
    expect(await sendText(company)).toMatchObject({
      status: 503,
      body: { error: "stream_corrupt" },
    })
  }
})

it("the corrupt streams are listed in /readyz, in /metrics and for operators", async () => {
  const ready = await world.app.inject("/readyz")
  expect(ready.statusCode).toBe(200)
  const metrics = (await world.app.inject("/metrics")).body.split("\n")
  expect(metrics).toContain("ledger_corrupt_streams 4")
  for (const { companyId } of corrupt.values()) {
    const { stream } = ledgerStreamOf(companyId)
    expect(ready.body).toMatch(
      new RegExp(`^warn streams corrupt: .*${stream} from revision \\d+`, "m"),
    )
    expect(metrics).toContain(`ledger_corrupt_stream{stream="${stream}"} 1`)
  }
  expect(await listedReasons()).toEqual(REASONS)
})

it("a rebuild of a read model omits the held-back events and lists their streams", async () => {
  const { corruptStreams } = await world.operate("projections status")
  const name = "charges"
  expect(await world.operate("projections rebuild", { name })).toEqual({
    name,
    rebuilt: true,
    corruptStreams,
  })
  expect(await world.operate("projections verify")).toMatchObject({ ok: true })
})

it("a backup omits the held-back events and lists their streams", async () => {
  const written = await world.operate("backup")
  expect(written.ok).toBe(false)
  const left = new Map(
    written.leftOut.map(({ stream, events }: LeftOutStream) => [stream, events] as const),
  )
  const streams = [...corrupt.values()].map(({ companyId }) => ledgerStreamOf(companyId).stream)
  expect(left).toEqual(new Map(streams.map((stream) => [stream, 1])))
})

it("tree heads and exports omit companies with a corrupt stream and list the streams", async () => {
  const { corruptStreams } = await world.operate("projections status")
  const { heads, corruptStreams: listed } = await world.operate("audit head")
  expect(listed).toEqual(corruptStreams)
  const trees = heads.map(({ tree }: { tree: string }) => tree)
  expect(trees).toContain(healthy.companyId)
  for (const { companyId } of corrupt.values()) expect(trees).not.toContain(companyId)
  expect(await world.operate("audit export")).toMatchObject({ corruptStreams })
  const [first] = corrupt.values()
  const { companyId: company } = first as Company
  const { stream } = ledgerStreamOf(company)
  for (const name of ["audit export", "company export"]) {
    expect(await world.operate(name, { company })).toMatchObject({ corruptStreams: [{ stream }] })
  }
})

it("a stream that is still corrupt cannot be released", async () => {
  for (const { companyId } of corrupt.values()) {
    const { stream } = ledgerStreamOf(companyId)
    await expect(world.operate("store release", { stream })).rejects.toThrow(
      new RegExp(`^Nothing was released: stream ${stream} revision \\d+ is corrupt: `),
    )
  }
  const { stream } = ledgerStreamOf(healthy.companyId)
  await expect(world.operate("store release", { stream })).rejects.toThrow(/is not held back/)
})

it("the same streams are held back after a restart", async () => {
  world = await world.restart()
  expect(await listedReasons()).toEqual(REASONS)
  await sendText(healthy)
  await world.operate("wait")
  const { body } = await world.call(healthy.key, "GET", TEXTS)
  expect(body.messages).toHaveLength(2)
})

it("a released stream's events appear in read models and enqueue their jobs", async () => {
  const { companyId } = await makeCompany(world)
  await world.operate("wait")
  const ledger = ledgerStreamOf(companyId)
  const { stream } = ledger
  const { store, pacer, clock, corruptList: list, jobs } = world.ports
  const revision = (await collectEvents(store.read(stream))).length
  list.holdBack({ stream, revision, reason: "a test holds it back" })
  await list.store()
  // Another process, which does not know of the corruption yet.
  const other = openRunner({
    store,
    pacer,
    clock,
    checkpoints: openMemoryCheckpoints(),
    locks: openMemoryLocks(pacer),
    warn: () => undefined,
  })
  expect(await other.execute(ledger, { type: "CloseLedger" }, causedBy("cmd_test"))).toMatchObject({
    accepted: true,
  })
  await world.operate("wait")
  expect(await jobs.findByName("erase-company", companyId)).toBeNull()
  const second = await openWorld("start", { url: world.databaseUrl })
  expect(second.ports.corruptList.get(stream)).toMatchObject({ revision })
  vi.spyOn(world.ports.projector, "rebuild").mockRejectedValueOnce(new Error("no room"))
  await expect(world.operate("store release", { stream })).rejects.toThrow("no room")
  expect(list.get(stream)).toMatchObject({ revision })
  expect(await world.operate("store release", { stream })).toMatchObject({ revision })
  await expect.poll(() => second.ports.corruptList.get(stream)).toBeNull()
  await second.close()
  expect(await jobs.findByName("erase-company", companyId)).not.toBeNull()
  expect(await world.operate("company show", { company: companyId })).toMatchObject({
    deleted: { erasing: false },
  })
  expect(await world.operate("projections verify")).toMatchObject({ ok: true })
})
