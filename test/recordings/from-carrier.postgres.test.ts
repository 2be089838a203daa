/** Recordings of calls that the carrier has: from the call to what can be heard, and to its end. */
import { sql } from "kysely"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { AudioGone } from "../../adapters/providers/voice/port.ts"
import { toneMp3 } from "../../adapters/providers/voice/simulated-call.ts"
import { fetchAudio } from "../../src/recordings/reactions.ts"
import { rowOf, tryAgain, workOf } from "../effects/texts.ts"
import type { World } from "../support/world.ts"
import { PHONES, callOf, makeCalled, openVoiceWorld, playCall } from "../voice/voice-world.ts"
import { listed, listen, remove } from "./recorded.ts"

let world: World
beforeAll(async () => {
  world = await openVoiceWorld()
})
afterEach(() => {
  vi.restoreAllMocks()
})
afterAll(() => world.close())

const recorded = { phones: PHONES.slice(0, 1), recordCalls: true }
const mp3 = (seconds: number) => Buffer.concat([...toneMp3(seconds)])

describe("a recording that the carrier has", () => {
  it("of a call is brought, listed with the call, and forgotten there", async () => {
    const company = await makeCalled(world, recorded)
    const forget = vi.spyOn(world.ports.voice, "forgetAudio")
    const callId = await playCall(world, company, "answered", { seconds: "70", recorded: true })
    const { bytes } = await listen(world, company, callId)
    expect(bytes.equals(mp3(70))).toBe(true)
    const [shown, ...others] = await listed(world, company)
    expect(others).toEqual([])
    expect(shown).toMatchObject({
      id: callId,
      direction: "in",
      to: company.to,
      recording: { seconds: 70 },
      voicemail: null,
    })
    const calls = await world.call(company.key, "GET", "/api/v1/phone/calls")
    const [call] = calls.body.calls
    expect([shown?.from, shown?.createdAt]).toEqual([call.from, call.createdAt])
    const ref = (await callOf(world, company, callId)).audio.call?.carrierRef ?? ""
    expect(forget.mock.calls).toEqual([[ref]])
    await expect(world.ports.voice.audio(ref)).rejects.toThrow(AudioGone)
  })

  it("of a voicemail is one too, unless nothing was said", async () => {
    const company = await makeCalled(world)
    const said = await playCall(world, company, "voicemail", { voicemailSeconds: 21 })
    const silent = await playCall(world, company, "voicemail", { voicemailSeconds: 0 })
    expect(await listed(world, company)).toMatchObject([
      { id: said, recording: null, voicemail: { seconds: 21 } },
    ])
    expect((await listen(world, company, said)).status).toBe(404)
    const { bytes } = await listen(world, company, said, { kind: "voicemail" })
    expect(bytes.equals(mp3(21))).toBe(true)
    expect((await listen(world, company, silent, { kind: "voicemail" })).status).toBe(404)
    expect((await remove(world, company, silent)).body).toEqual({ deleted: 0 })
  })

  it("is sealed under its caller's key", async () => {
    const company = await makeCalled(world)
    const callId = await playCall(world, company, "voicemail", { voicemailSeconds: 5 })
    const { callerTag } = (await callOf(world, company, callId)).offered
    await world.ports.erasure.destroySubject(company.companyId, callerTag)
    expect((await listen(world, company, callId, { kind: "voicemail" })).status).toBe(404)
  })

  it.for([
    ["is not available", new ProviderUnavailable("503")],
    ["is silent", new ProviderSilent("nothing")],
  ] as const)("is brought later where it %s", async ([, error]) => {
    const company = await makeCalled(world)
    vi.spyOn(world.ports.voice, "audio").mockRejectedValueOnce(error)
    const callId = await playCall(world, company, "voicemail", { voicemailSeconds: 5 })
    await tryAgain(world, company.companyId, "store-recording")
    const { bytes } = await listen(world, company, callId, { kind: "voicemail" })
    expect(bytes.equals(mp3(5))).toBe(true)
    expect(await workOf(world, company.companyId)).not.toContainEqual(
      expect.objectContaining({ kind: "store-recording" }),
    )
  })

  it("that was deleted before the row that brings it ran again stays deleted", async () => {
    const company = await makeCalled(world)
    const { voice } = world.ports
    vi.spyOn(voice, "forgetAudio").mockRejectedValueOnce(new ProviderUnavailable("503"))
    const callId = await playCall(world, company, "voicemail", { voicemailSeconds: 5 })
    const row = await rowOf(world, "store-recording", `${callId}:voicemail`)
    expect((await remove(world, company, callId)).body).toEqual({ deleted: 1 })
    expect(await fetchAudio.perform(world.ports, row)).toEqual({ result: "done" })
    expect((await listen(world, company, callId, { kind: "voicemail" })).status).toBe(404)
    const ref = (await callOf(world, company, callId)).audio.voicemail?.carrierRef ?? ""
    await expect(voice.audio(ref)).rejects.toThrow(AudioGone)
    await tryAgain(world, company.companyId, "store-recording")
  })

  it("that is deleted while it is still on its way never comes, and counts as deleted", async () => {
    const company = await makeCalled(world)
    const { voice } = world.ports
    const away = vi.spyOn(voice, "audio").mockRejectedValue(new ProviderUnavailable("503"))
    const callId = await playCall(world, company, "voicemail", { voicemailSeconds: 5 })
    expect(await listed(world, company)).toEqual([])
    expect((await remove(world, company, callId, "call")).body).toEqual({ deleted: 0 })
    expect((await remove(world, company, callId)).body).toEqual({ deleted: 1 })
    expect((await remove(world, company, callId)).body).toEqual({ deleted: 0 })
    away.mockRestore()
    await tryAgain(world, company.companyId, "store-recording")
    const ref = (await callOf(world, company, callId)).audio.voicemail?.carrierRef ?? ""
    await expect(voice.audio(ref)).rejects.toThrow(AudioGone)
    expect(await listed(world, company)).toEqual([])
    expect((await listen(world, company, callId, { kind: "voicemail" })).status).toBe(404)
  })

  it("and lost before it was brought is nobody's any more, and no row waits for it", async () => {
    const company = await makeCalled(world)
    const warn = vi.spyOn(world.ports.log, "warn")
    vi.spyOn(world.ports.voice, "audio").mockRejectedValueOnce(new AudioGone("no recording"))
    const callId = await playCall(world, company, "voicemail", { voicemailSeconds: 5 })
    expect((await workOf(world, company.companyId)).map(({ kind }) => kind)).not.toContain(
      "store-recording",
    )
    expect(warn.mock.calls.map(([said]) => said)).toEqual([
      `the carrier lost the audio of ${callId}:voicemail, which nobody can hear now`,
    ])
    expect(await listed(world, company)).toEqual([])
  })

  it("is forgotten there where it is deleted here, also when the carrier does not answer", async () => {
    const company = await makeCalled(world)
    const callId = await playCall(world, company, "voicemail", { voicemailSeconds: 5 })
    const forget = vi.spyOn(world.ports.voice, "forgetAudio")
    forget.mockRejectedValueOnce(new ProviderSilent("nothing"))
    expect((await remove(world, company, callId)).body).toEqual({ deleted: 1 })
    await world.operate("wait")
    await tryAgain(world, company.companyId, "delete-recording")
    expect(forget.mock.calls.length).toBeGreaterThan(1)
    const { rows } =
      await sql`select from ledger.blobs where blob_id = ${`${callId}-voicemail`}`.execute(
        world.ports.readAll,
      )
    expect(rows).toHaveLength(0)
  })
})
