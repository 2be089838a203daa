/** Storing audio from a carrier: once, whatever fails on the way, and never again after its deletion. */
import { sql } from "kysely"
import { beforeAll, describe, expect, it } from "vitest"
import { ProviderUnavailable } from "../../adapters/providers/provider-errors.ts"
import { recordingsStreamOf } from "../../domain/recordings/aggregates.ts"
import { RECORDING_ACCEPT_WINDOW_MS } from "../../domain/recordings/recordings.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { AudioSource, CarrierAudio } from "../../src/recordings/store-audio.ts"
import { storeAudio } from "../../src/recordings/store-audio.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import {
  carrierWithRecording,
  listRecordingsOf,
  fetchRecording,
  removeRecording,
  savedAudio,
} from "./recording-world.ts"

const world = await ownWorld("store", { rateLimits: "off" })
let company: Company
beforeAll(async () => {
  company = await makeCompany(world)
})

const BYTES = [Buffer.from("abc"), Buffer.from("def")]
const store = (saved: CarrierAudio, source: AudioSource) =>
  storeAudio(world.ports, saved, source, causedBy("test recording"))

/** The types of the facts about a company's audio. */
const factsOf = async ({ companyId }: Company) =>
  (await collectEvents(world.ports.store.read(recordingsStreamOf(companyId).stream))).map(
    ({ type }) => type,
  )

/** Number of blobs of a call, including half-written ones. */
async function blobsOf(callId: string): Promise<number> {
  const { rows } = await sql`select from ledger.blobs where blob_id = ${`${callId}-call`}`.execute(
    world.ports.readAll,
  )
  return rows.length
}

describe("audio at a carrier", () => {
  it("is stored once and deleted at the carrier, however often it is downloaded", async () => {
    const newCompany = await makeCompany(world)
    const saved = await savedAudio(world, newCompany)
    const source = carrierWithRecording(BYTES)
    await store(saved, source)
    await store(saved, source)
    await Promise.all([store(saved, source), store(saved, source)])
    expect(source.calls).toEqual([
      "download rec_1",
      ...Array.from({ length: 4 }, () => "delete rec_1"),
    ])
    expect(await factsOf(newCompany)).toEqual(["RecordingStored"])
    expect(String((await fetchRecording(world, newCompany, saved.callId)).bytes)).toBe("abcdef")
  })

  it("is stored once by concurrent downloads", async () => {
    const newCompany = await makeCompany(world)
    const saved = await savedAudio(world, newCompany)
    await Promise.all(Array.from({ length: 4 }, () => store(saved, carrierWithRecording(BYTES))))
    expect(await factsOf(newCompany)).toEqual(["RecordingStored"])
    expect(await blobsOf(saved.callId)).toBe(1)
    expect(String((await fetchRecording(world, newCompany, saved.callId)).bytes)).toBe("abcdef")
  })

  it("is stored separately for the call and the voicemail", async () => {
    const newCompany = await makeCompany(world)
    const saved = await savedAudio(world, newCompany, { seconds: 61 })
    await store(saved, carrierWithRecording(BYTES))
    const later = { ...saved, kind: "voicemail" as const, seconds: 5 }
    await store(later, carrierWithRecording([Buffer.from("x")]))
    expect(await listRecordingsOf(world, newCompany)).toMatchObject([
      { id: saved.callId, recording: { seconds: 61 }, voicemail: { seconds: 5 } },
    ])
  })

  it("leaves nothing if its download breaks off, and is stored the next time", async () => {
    const saved = await savedAudio(world, company)
    async function* breakOff() {
      yield Buffer.alloc(100_000, 1)
      throw new ProviderUnavailable("the line is down")
    }
    const source = { ...carrierWithRecording([]), downloadRecording: async () => breakOff() }
    await expect(store(saved, source)).rejects.toThrow("the line is down")
    expect([source.calls, await blobsOf(saved.callId)]).toEqual([[], 0])
    expect((await fetchRecording(world, company, saved.callId)).status).toBe(404)
    await store(saved, carrierWithRecording(BYTES))
    expect((await fetchRecording(world, company, saved.callId)).status).toBe(200)
  })

  it("is stored with the blob that a dead process left", async () => {
    const saved = await savedAudio(world, company)
    const { companyId, subject, callId } = saved
    const blob = { companyId, subject, blobId: `${callId}-call` }
    await world.ports.blobs.write(blob, await carrierWithRecording(BYTES).downloadRecording(""), {
      maxBytes: 10,
    })
    expect((await fetchRecording(world, company, callId)).status).toBe(404)
    await store(saved, carrierWithRecording(BYTES))
    expect(String((await fetchRecording(world, company, callId)).bytes)).toBe("abcdef")
  })

  it("that the carrier failed to delete is deleted there the next time", async () => {
    const saved = await savedAudio(world, company)
    const source = carrierWithRecording(BYTES)
    const deleteRecording = () => Promise.reject(new ProviderUnavailable("not now"))
    await expect(store(saved, { ...source, deleteRecording })).rejects.toThrow("not now")
    await store(saved, source)
    expect(source.calls).toEqual(["download rec_1", "delete rec_1"])
  })
})

describe("audio is not stored, and is deleted at the carrier, if it", () => {
  it("was deleted before", async () => {
    const saved = await savedAudio(world, company)
    await store(saved, carrierWithRecording(BYTES))
    await removeRecording(world, company, saved.callId)
    const source = carrierWithRecording(BYTES)
    await store(saved, source)
    expect(source.calls).toEqual(["delete rec_1"])
    expect((await fetchRecording(world, company, saved.callId)).status).toBe(404)
  })

  it("was deleted while a process that died was downloading it; its blob is deleted too", async () => {
    const saved = await savedAudio(world, company)
    await store(saved, carrierWithRecording(BYTES))
    await removeRecording(world, company, saved.callId)
    await world.operate("wait")
    const { companyId, subject, callId } = saved
    const blob = { companyId, subject, blobId: `${callId}-call` }
    await world.ports.blobs.write(blob, await carrierWithRecording(BYTES).downloadRecording(""), {
      maxBytes: 10,
    })
    await store(saved, carrierWithRecording(BYTES))
    expect(await blobsOf(callId)).toBe(0)
  })

  it("is deleted during its download", async () => {
    const newCompany = await makeCompany(world)
    const saved = await savedAudio(world, newCompany)
    async function* slow() {
      yield BYTES[0] as Buffer
      await store(saved, carrierWithRecording(BYTES))
      await removeRecording(world, newCompany, saved.callId)
      yield BYTES[1] as Buffer
    }
    await store(saved, { ...carrierWithRecording([]), downloadRecording: async () => slow() })
    expect(await factsOf(newCompany)).toEqual(["RecordingStored", "RecordingDeleted"])
    expect(await blobsOf(saved.callId)).toBe(0)
  })

  it("is empty", async () => {
    const saved = await savedAudio(world, company, { kind: "voicemail", seconds: 0 })
    const source = carrierWithRecording(BYTES)
    await store(saved, source)
    expect(source.calls).toEqual(["delete rec_1"])
    expect((await fetchRecording(world, company, saved.callId, { kind: "voicemail" })).status).toBe(
      404,
    )
  })

  it("belongs to a call too long ago", async () => {
    const calledAt = world.ports.clock.now() - RECORDING_ACCEPT_WINDOW_MS - 1_000
    const saved = await savedAudio(world, company, { calledAt })
    const source = carrierWithRecording(BYTES)
    await store(saved, source)
    expect(source.calls).toEqual(["download rec_1", "delete rec_1"])
    expect(await blobsOf(saved.callId)).toBe(0)
    expect((await fetchRecording(world, company, saved.callId)).status).toBe(404)
  })

  it("belongs to an erased company", async () => {
    const newCompany = await makeCompany(world)
    const saved = await savedAudio(world, newCompany)
    await world.ports.erasure.destroyKeys(newCompany.companyId)
    const source = carrierWithRecording(BYTES)
    await store(saved, source)
    expect([source.calls.at(-1), await factsOf(newCompany)]).toEqual(["delete rec_1", []])
  })
})
