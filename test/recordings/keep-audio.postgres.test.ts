/** Keeping audio that a carrier has: once, whatever happens on the way, and never again once it was deleted. */
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
const keep = (saved: CarrierAudio, source: AudioSource) =>
  storeAudio(world.ports, saved, source, causedBy("test recording"))

/** The types of the facts about a company's audio. */
const factsOf = async ({ companyId }: Company) =>
  (await collectEvents(world.ports.store.read(recordingsStreamOf(companyId).stream))).map(
    ({ type }) => type,
  )

/** The blobs that there are of a call, half-written ones too. */
async function blobsOf(callId: string): Promise<number> {
  const { rows } = await sql`select from ledger.blobs where blob_id = ${`${callId}-call`}`.execute(
    world.ports.readAll,
  )
  return rows.length
}

describe("audio that a carrier has", () => {
  it("is kept once and forgotten there, however often it is brought", async () => {
    const own = await makeCompany(world)
    const saved = await savedAudio(world, own)
    const source = carrierWithRecording(BYTES)
    await keep(saved, source)
    await keep(saved, source)
    await Promise.all([keep(saved, source), keep(saved, source)])
    expect(source.asked).toEqual([
      "audio rec_1",
      ...Array.from({ length: 4 }, () => "forget rec_1"),
    ])
    expect(await factsOf(own)).toEqual(["RecordingStored"])
    expect(String((await fetchRecording(world, own, saved.callId)).bytes)).toBe("abcdef")
  })

  it("is kept once by two who bring it at the same time", async () => {
    const own = await makeCompany(world)
    const saved = await savedAudio(world, own)
    await Promise.all(Array.from({ length: 4 }, () => keep(saved, carrierWithRecording(BYTES))))
    expect(await factsOf(own)).toEqual(["RecordingStored"])
    expect(await blobsOf(saved.callId)).toBe(1)
    expect(String((await fetchRecording(world, own, saved.callId)).bytes)).toBe("abcdef")
  })

  it("is the call's and the voicemail's, each by itself", async () => {
    const own = await makeCompany(world)
    const saved = await savedAudio(world, own, { seconds: 61 })
    await keep(saved, carrierWithRecording(BYTES))
    const later = { ...saved, kind: "voicemail" as const, seconds: 5 }
    await keep(later, carrierWithRecording([Buffer.from("x")]))
    expect(await listRecordingsOf(world, own)).toMatchObject([
      { id: saved.callId, recording: { seconds: 61 }, voicemail: { seconds: 5 } },
    ])
  })

  it("of which half comes leaves nothing, and is kept the next time", async () => {
    const saved = await savedAudio(world, company)
    async function* torn() {
      yield Buffer.alloc(100_000, 1)
      throw new ProviderUnavailable("the line is down")
    }
    const source = { ...carrierWithRecording([]), downloadRecording: async () => torn() }
    await expect(keep(saved, source)).rejects.toThrow("the line is down")
    expect([source.asked, await blobsOf(saved.callId)]).toEqual([[], 0])
    expect((await fetchRecording(world, company, saved.callId)).status).toBe(404)
    await keep(saved, carrierWithRecording(BYTES))
    expect((await fetchRecording(world, company, saved.callId)).status).toBe(200)
  })

  it("whose blob a process left that died is kept as that", async () => {
    const saved = await savedAudio(world, company)
    const { companyId, subject, callId } = saved
    const blob = { companyId, subject, blobId: `${callId}-call` }
    const [left] = [BYTES]
    await world.ports.blobs.write(blob, await carrierWithRecording(left).downloadRecording(""), {
      maxBytes: 10,
    })
    expect((await fetchRecording(world, company, callId)).status).toBe(404)
    await keep(saved, carrierWithRecording(BYTES))
    expect(String((await fetchRecording(world, company, callId)).bytes)).toBe("abcdef")
  })

  it("that the carrier did not forget yet is forgotten the next time", async () => {
    const saved = await savedAudio(world, company)
    const source = carrierWithRecording(BYTES)
    const deleteRecording = () => Promise.reject(new ProviderUnavailable("not now"))
    await expect(keep(saved, { ...source, deleteRecording })).rejects.toThrow("not now")
    await keep(saved, source)
    expect(source.asked).toEqual(["audio rec_1", "forget rec_1"])
  })
})

describe("audio that is not kept", () => {
  it("was deleted before: it never comes back, and the carrier forgets it", async () => {
    const saved = await savedAudio(world, company)
    await keep(saved, carrierWithRecording(BYTES))
    await removeRecording(world, company, saved.callId)
    const source = carrierWithRecording(BYTES)
    await keep(saved, source)
    expect(source.asked).toEqual(["forget rec_1"])
    expect((await fetchRecording(world, company, saved.callId)).status).toBe(404)
  })

  it("was deleted while a process brought it that died: its blob goes as well", async () => {
    const saved = await savedAudio(world, company)
    await keep(saved, carrierWithRecording(BYTES))
    await removeRecording(world, company, saved.callId)
    await world.operate("wait")
    const { companyId, subject, callId } = saved
    const blob = { companyId, subject, blobId: `${callId}-call` }
    await world.ports.blobs.write(blob, await carrierWithRecording(BYTES).downloadRecording(""), {
      maxBytes: 10,
    })
    await keep(saved, carrierWithRecording(BYTES))
    expect(await blobsOf(callId)).toBe(0)
  })

  it("is deleted while it comes", async () => {
    const own = await makeCompany(world)
    const saved = await savedAudio(world, own)
    async function* slow() {
      yield BYTES[0] as Buffer
      await keep(saved, carrierWithRecording(BYTES))
      await removeRecording(world, own, saved.callId)
      yield BYTES[1] as Buffer
    }
    await keep(saved, { ...carrierWithRecording([]), downloadRecording: async () => slow() })
    expect(await factsOf(own)).toEqual(["RecordingStored", "RecordingDeleted"])
    expect(await blobsOf(saved.callId)).toBe(0)
  })

  it("says nothing", async () => {
    const saved = await savedAudio(world, company, { kind: "voicemail", seconds: 0 })
    const source = carrierWithRecording(BYTES)
    await keep(saved, source)
    expect(source.asked).toEqual(["forget rec_1"])
    expect((await fetchRecording(world, company, saved.callId, { kind: "voicemail" })).status).toBe(
      404,
    )
  })

  it("is of a call too long ago", async () => {
    const calledAt = world.ports.clock.now() - RECORDING_ACCEPT_WINDOW_MS - 1_000
    const saved = await savedAudio(world, company, { calledAt })
    const source = carrierWithRecording(BYTES)
    await keep(saved, source)
    expect(source.asked).toEqual(["audio rec_1", "forget rec_1"])
    expect(await blobsOf(saved.callId)).toBe(0)
    expect((await fetchRecording(world, company, saved.callId)).status).toBe(404)
  })

  it("is of a company that was erased", async () => {
    const own = await makeCompany(world)
    const saved = await savedAudio(world, own)
    await world.ports.erasure.destroyKeys(own.companyId)
    const source = carrierWithRecording(BYTES)
    await keep(saved, source)
    expect([source.asked.at(-1), await factsOf(own)]).toEqual(["forget rec_1", []])
  })
})
