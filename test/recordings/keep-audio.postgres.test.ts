/** Keeping audio that a carrier has: once, whatever happens on the way, and never again once it was deleted. */
import { sql } from "kysely"
import { beforeAll, describe, expect, it } from "vitest"
import { ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { recordingsOf } from "../../domain/recordings/aggregates.ts"
import { KEPT_WITHIN_MS } from "../../domain/recordings/recordings.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { AudioSource, SavedAudio } from "../../src/recordings/keep-audio.ts"
import { keepAudio } from "../../src/recordings/keep-audio.ts"
import { collect } from "../contracts/event-store-fixture.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { carrierWith, listed, listen, remove, savedAudio } from "./recorded.ts"

const world = await ownWorld("store", { rateLimits: "off" })
let company: Company
beforeAll(async () => {
  company = await makeCompany(world)
})

const BYTES = [Buffer.from("abc"), Buffer.from("def")]
const keep = (saved: SavedAudio, source: AudioSource) =>
  keepAudio(world.ports, saved, source, causedBy("test recording"))

/** The types of the facts about a company's audio. */
const factsOf = async ({ companyId }: Company) =>
  (await collect(world.ports.store.read(recordingsOf(companyId).stream))).map(({ type }) => type)

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
    const source = carrierWith(BYTES)
    await keep(saved, source)
    await keep(saved, source)
    await Promise.all([keep(saved, source), keep(saved, source)])
    expect(source.asked).toEqual([
      "audio rec_1",
      ...Array.from({ length: 4 }, () => "forget rec_1"),
    ])
    expect(await factsOf(own)).toEqual(["RecordingStored"])
    expect(String((await listen(world, own, saved.callId)).bytes)).toBe("abcdef")
  })

  it("is kept once by two who bring it at the same time", async () => {
    const own = await makeCompany(world)
    const saved = await savedAudio(world, own)
    await Promise.all(Array.from({ length: 4 }, () => keep(saved, carrierWith(BYTES))))
    expect(await factsOf(own)).toEqual(["RecordingStored"])
    expect(await blobsOf(saved.callId)).toBe(1)
    expect(String((await listen(world, own, saved.callId)).bytes)).toBe("abcdef")
  })

  it("is the call's and the voicemail's, each by itself", async () => {
    const own = await makeCompany(world)
    const saved = await savedAudio(world, own, { seconds: 61 })
    await keep(saved, carrierWith(BYTES))
    const later = { ...saved, kind: "voicemail" as const, seconds: 5 }
    await keep(later, carrierWith([Buffer.from("x")]))
    expect(await listed(world, own)).toMatchObject([
      { id: saved.callId, recording: { seconds: 61 }, voicemail: { seconds: 5 } },
    ])
  })

  it("of which half comes leaves nothing, and is kept the next time", async () => {
    const saved = await savedAudio(world, company)
    async function* torn() {
      yield Buffer.alloc(100_000, 1)
      throw new ProviderUnavailable("the line is down")
    }
    const source = { ...carrierWith([]), audio: async () => torn() }
    await expect(keep(saved, source)).rejects.toThrow("the line is down")
    expect([source.asked, await blobsOf(saved.callId)]).toEqual([[], 0])
    expect((await listen(world, company, saved.callId)).status).toBe(404)
    await keep(saved, carrierWith(BYTES))
    expect((await listen(world, company, saved.callId)).status).toBe(200)
  })

  it("whose blob a process left that died is kept as that", async () => {
    const saved = await savedAudio(world, company)
    const { companyId, subject, callId } = saved
    const blob = { companyId, subject, blobId: `${callId}-call` }
    const [left] = [BYTES]
    await world.ports.blobs.write(blob, await carrierWith(left).audio(""), { mostBytes: 10 })
    expect((await listen(world, company, callId)).status).toBe(404)
    await keep(saved, carrierWith(BYTES))
    expect(String((await listen(world, company, callId)).bytes)).toBe("abcdef")
  })

  it("that the carrier did not forget yet is forgotten the next time", async () => {
    const saved = await savedAudio(world, company)
    const source = carrierWith(BYTES)
    const forgetAudio = () => Promise.reject(new ProviderUnavailable("not now"))
    await expect(keep(saved, { ...source, forgetAudio })).rejects.toThrow("not now")
    await keep(saved, source)
    expect(source.asked).toEqual(["audio rec_1", "forget rec_1"])
  })
})

describe("audio that is not kept", () => {
  it("was deleted before: it never comes back, and the carrier forgets it", async () => {
    const saved = await savedAudio(world, company)
    await keep(saved, carrierWith(BYTES))
    await remove(world, company, saved.callId)
    const source = carrierWith(BYTES)
    await keep(saved, source)
    expect(source.asked).toEqual(["forget rec_1"])
    expect((await listen(world, company, saved.callId)).status).toBe(404)
  })

  it("was deleted while a process brought it that died: its blob goes as well", async () => {
    const saved = await savedAudio(world, company)
    await keep(saved, carrierWith(BYTES))
    await remove(world, company, saved.callId)
    await world.operate("wait")
    const { companyId, subject, callId } = saved
    const blob = { companyId, subject, blobId: `${callId}-call` }
    await world.ports.blobs.write(blob, await carrierWith(BYTES).audio(""), { mostBytes: 10 })
    await keep(saved, carrierWith(BYTES))
    expect(await blobsOf(callId)).toBe(0)
  })

  it("is deleted while it comes", async () => {
    const own = await makeCompany(world)
    const saved = await savedAudio(world, own)
    async function* slow() {
      yield BYTES[0] as Buffer
      await keep(saved, carrierWith(BYTES))
      await remove(world, own, saved.callId)
      yield BYTES[1] as Buffer
    }
    await keep(saved, { ...carrierWith([]), audio: async () => slow() })
    expect(await factsOf(own)).toEqual(["RecordingStored", "RecordingDeleted"])
    expect(await blobsOf(saved.callId)).toBe(0)
  })

  it("says nothing", async () => {
    const saved = await savedAudio(world, company, { kind: "voicemail", seconds: 0 })
    const source = carrierWith(BYTES)
    await keep(saved, source)
    expect(source.asked).toEqual(["forget rec_1"])
    expect((await listen(world, company, saved.callId, { kind: "voicemail" })).status).toBe(404)
  })

  it("is of a call too long ago", async () => {
    const calledAt = world.ports.clock.now() - KEPT_WITHIN_MS - 1_000
    const saved = await savedAudio(world, company, { calledAt })
    const source = carrierWith(BYTES)
    await keep(saved, source)
    expect(source.asked).toEqual(["audio rec_1", "forget rec_1"])
    expect(await blobsOf(saved.callId)).toBe(0)
    expect((await listen(world, company, saved.callId)).status).toBe(404)
  })

  it("is of a company that was erased", async () => {
    const own = await makeCompany(world)
    const saved = await savedAudio(world, own)
    await world.ports.erasure.destroyKeys(own.companyId)
    const source = carrierWith(BYTES)
    await keep(saved, source)
    expect([source.asked.at(-1), await factsOf(own)]).toEqual(["forget rec_1", []])
  })
})
