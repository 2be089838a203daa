/** Recordings of calls that the carrier has: from the call to what can be heard, and to its end. */
import { sql } from "kysely"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { RecordingNotFound } from "../../adapters/providers/voice/port.ts"
import { generateToneMp3 } from "../../adapters/providers/voice/simulated-call.ts"
import { fetchAudio } from "../../src/recordings/reactions.ts"
import { jobOf, retryJobsOf, pendingJobsOf } from "../effects/texts.ts"
import type { World } from "../support/world.ts"
import {
  PHONES,
  liveCallOf,
  makeCallableCompany,
  openVoiceWorld,
  runIncomingCall,
} from "../voice/voice-world.ts"
import { listRecordingsOf, fetchRecording, removeRecording } from "./recording-world.ts"

let world: World
beforeAll(async () => {
  world = await openVoiceWorld()
})
afterEach(() => {
  vi.restoreAllMocks()
})
afterAll(() => world.close())

const recorded = { phones: PHONES.slice(0, 1), recordCalls: true }
const mp3 = (seconds: number) => Buffer.concat([...generateToneMp3(seconds)])

describe("a recording that the carrier has", () => {
  it("of a call is brought, listed with the call, and forgotten there", async () => {
    const company = await makeCallableCompany(world, recorded)
    const forget = vi.spyOn(world.ports.voice, "deleteRecording")
    const callId = await runIncomingCall(world, company, "answered", {
      seconds: "70",
      recorded: true,
    })
    const { bytes } = await fetchRecording(world, company, callId)
    expect(bytes.equals(mp3(70))).toBe(true)
    const [shown, ...others] = await listRecordingsOf(world, company)
    expect(others).toEqual([])
    expect(shown).toMatchObject({
      id: callId,
      direction: "in",
      to: company.number,
      recording: { seconds: 70 },
      voicemail: null,
    })
    const calls = await world.call(company.key, "GET", "/api/v1/phone/calls")
    const [call] = calls.body.calls
    expect([shown?.from, shown?.createdAt]).toEqual([call.from, call.createdAt])
    const ref = (await liveCallOf(world, company, callId)).audio.call?.carrierRef ?? ""
    expect(forget.mock.calls).toEqual([[ref]])
    await expect(world.ports.voice.downloadRecording(ref)).rejects.toThrow(RecordingNotFound)
  })

  it("of a voicemail is one too, unless nothing was said", async () => {
    const company = await makeCallableCompany(world)
    const said = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 21 })
    const silent = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 0 })
    expect(await listRecordingsOf(world, company)).toMatchObject([
      { id: said, recording: null, voicemail: { seconds: 21 } },
    ])
    expect((await fetchRecording(world, company, said)).status).toBe(404)
    const { bytes } = await fetchRecording(world, company, said, { kind: "voicemail" })
    expect(bytes.equals(mp3(21))).toBe(true)
    expect((await fetchRecording(world, company, silent, { kind: "voicemail" })).status).toBe(404)
    expect((await removeRecording(world, company, silent)).body).toEqual({ deleted: 0 })
  })

  it("is sealed under its caller's key", async () => {
    const company = await makeCallableCompany(world)
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    const { callerTag } = (await liveCallOf(world, company, callId)).offered
    await world.ports.erasure.destroySubjectKey(company.companyId, callerTag)
    expect((await fetchRecording(world, company, callId, { kind: "voicemail" })).status).toBe(404)
  })

  it.for([
    ["is not available", new ProviderUnavailable("503")],
    ["is silent", new ProviderOutcomeUnknown("nothing")],
  ] as const)("is brought later where it %s", async ([, error]) => {
    const company = await makeCallableCompany(world)
    vi.spyOn(world.ports.voice, "downloadRecording").mockRejectedValueOnce(error)
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    await retryJobsOf(world, company.companyId, "store-recording")
    const { bytes } = await fetchRecording(world, company, callId, { kind: "voicemail" })
    expect(bytes.equals(mp3(5))).toBe(true)
    expect(await pendingJobsOf(world, company.companyId)).not.toContainEqual(
      expect.objectContaining({ kind: "store-recording" }),
    )
  })

  it("that was deleted before the row that brings it ran again stays deleted", async () => {
    const company = await makeCallableCompany(world)
    const { voice } = world.ports
    vi.spyOn(voice, "deleteRecording").mockRejectedValueOnce(new ProviderUnavailable("503"))
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    const row = await jobOf(world, "store-recording", `${callId}:voicemail`)
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 1 })
    expect(await fetchAudio.perform(world.ports, row)).toEqual({ result: "done" })
    expect((await fetchRecording(world, company, callId, { kind: "voicemail" })).status).toBe(404)
    const ref = (await liveCallOf(world, company, callId)).audio.voicemail?.carrierRef ?? ""
    await expect(voice.downloadRecording(ref)).rejects.toThrow(RecordingNotFound)
    await retryJobsOf(world, company.companyId, "store-recording")
  })

  it("that is deleted while it is still on its way never comes, and counts as deleted", async () => {
    const company = await makeCallableCompany(world)
    const { voice } = world.ports
    const away = vi
      .spyOn(voice, "downloadRecording")
      .mockRejectedValue(new ProviderUnavailable("503"))
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    expect(await listRecordingsOf(world, company)).toEqual([])
    expect((await removeRecording(world, company, callId, "call")).body).toEqual({ deleted: 0 })
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 1 })
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 0 })
    away.mockRestore()
    await retryJobsOf(world, company.companyId, "store-recording")
    const ref = (await liveCallOf(world, company, callId)).audio.voicemail?.carrierRef ?? ""
    await expect(voice.downloadRecording(ref)).rejects.toThrow(RecordingNotFound)
    expect(await listRecordingsOf(world, company)).toEqual([])
    expect((await fetchRecording(world, company, callId, { kind: "voicemail" })).status).toBe(404)
  })

  it("and lost before it was brought is nobody's any more, and no row waits for it", async () => {
    const company = await makeCallableCompany(world)
    const warn = vi.spyOn(world.ports.log, "warn")
    vi.spyOn(world.ports.voice, "downloadRecording").mockRejectedValueOnce(
      new RecordingNotFound("no recording"),
    )
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    expect((await pendingJobsOf(world, company.companyId)).map(({ kind }) => kind)).not.toContain(
      "store-recording",
    )
    expect(warn.mock.calls.map(([said]) => said)).toEqual([
      `the carrier no longer has the audio of ${callId}:voicemail, so it cannot be stored`,
    ])
    expect(await listRecordingsOf(world, company)).toEqual([])
  })

  it("is forgotten there where it is deleted here, also when the carrier does not answer", async () => {
    const company = await makeCallableCompany(world)
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    const forget = vi.spyOn(world.ports.voice, "deleteRecording")
    forget.mockRejectedValueOnce(new ProviderOutcomeUnknown("nothing"))
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 1 })
    await world.operate("wait")
    await retryJobsOf(world, company.companyId, "delete-recording")
    expect(forget.mock.calls.length).toBeGreaterThan(1)
    const { rows } =
      await sql`select from ledger.blobs where blob_id = ${`${callId}-voicemail`}`.execute(
        world.ports.readAll,
      )
    expect(rows).toHaveLength(0)
  })
})
