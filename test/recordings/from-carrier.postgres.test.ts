/** Recordings that the carrier made: downloaded, listed, played, and deleted at the carrier. */
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

describe("a recording at the carrier", () => {
  it("of a call is downloaded, listed with its call, and deleted at the carrier", async () => {
    const company = await makeCallableCompany(world, recorded)
    const deleteAtCarrier = vi.spyOn(world.ports.voice, "deleteRecording")
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
    expect(deleteAtCarrier.mock.calls).toEqual([[ref]])
    await expect(world.ports.voice.downloadRecording(ref)).rejects.toThrow(RecordingNotFound)
  })

  it("of a voicemail is downloaded too, unless it is empty", async () => {
    const company = await makeCallableCompany(world)
    const spoken = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 21 })
    const empty = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 0 })
    expect(await listRecordingsOf(world, company)).toMatchObject([
      { id: spoken, recording: null, voicemail: { seconds: 21 } },
    ])
    expect((await fetchRecording(world, company, spoken)).status).toBe(404)
    const { bytes } = await fetchRecording(world, company, spoken, { kind: "voicemail" })
    expect(bytes.equals(mp3(21))).toBe(true)
    expect((await fetchRecording(world, company, empty, { kind: "voicemail" })).status).toBe(404)
    expect((await removeRecording(world, company, empty)).body).toEqual({ deleted: 0 })
  })

  it("is sealed under its caller's key", async () => {
    const company = await makeCallableCompany(world)
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    const { callerTag } = (await liveCallOf(world, company, callId)).offered
    await world.ports.erasure.destroySubjectKey(company.companyId, callerTag)
    expect((await fetchRecording(world, company, callId, { kind: "voicemail" })).status).toBe(404)
  })

  it.for([
    ["is unavailable", new ProviderUnavailable("503")],
    ["does not answer", new ProviderOutcomeUnknown("nothing")],
  ] as const)("is downloaded later if the carrier %s", async ([, error]) => {
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

  it("that is deleted before its download is retried stays deleted", async () => {
    const company = await makeCallableCompany(world)
    const { voice } = world.ports
    vi.spyOn(voice, "deleteRecording").mockRejectedValueOnce(new ProviderUnavailable("503"))
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    const job = await jobOf(world, "store-recording", `${callId}:voicemail`)
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 1 })
    expect(await fetchAudio.perform(world.ports, job)).toEqual({ result: "done" })
    expect((await fetchRecording(world, company, callId, { kind: "voicemail" })).status).toBe(404)
    const ref = (await liveCallOf(world, company, callId)).audio.voicemail?.carrierRef ?? ""
    await expect(voice.downloadRecording(ref)).rejects.toThrow(RecordingNotFound)
    await retryJobsOf(world, company.companyId, "store-recording")
  })

  it("that is deleted before it is downloaded is never stored, and counts as deleted", async () => {
    const company = await makeCallableCompany(world)
    const { voice } = world.ports
    const download = vi
      .spyOn(voice, "downloadRecording")
      .mockRejectedValue(new ProviderUnavailable("503"))
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    expect(await listRecordingsOf(world, company)).toEqual([])
    expect((await removeRecording(world, company, callId, "call")).body).toEqual({ deleted: 0 })
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 1 })
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 0 })
    download.mockRestore()
    await retryJobsOf(world, company.companyId, "store-recording")
    const ref = (await liveCallOf(world, company, callId)).audio.voicemail?.carrierRef ?? ""
    await expect(voice.downloadRecording(ref)).rejects.toThrow(RecordingNotFound)
    expect(await listRecordingsOf(world, company)).toEqual([])
    expect((await fetchRecording(world, company, callId, { kind: "voicemail" })).status).toBe(404)
  })

  it("that is lost before its download is given up with a warning, and no job is left", async () => {
    const company = await makeCallableCompany(world)
    const warn = vi.spyOn(world.ports.log, "warn")
    vi.spyOn(world.ports.voice, "downloadRecording").mockRejectedValueOnce(
      new RecordingNotFound("no recording"),
    )
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    expect((await pendingJobsOf(world, company.companyId)).map(({ kind }) => kind)).not.toContain(
      "store-recording",
    )
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      `the carrier no longer has the audio of ${callId}:voicemail, so it cannot be stored`,
    ])
    expect(await listRecordingsOf(world, company)).toEqual([])
  })

  it("is deleted at the carrier when it is deleted here, even if the carrier does not answer at first", async () => {
    const company = await makeCallableCompany(world)
    const callId = await runIncomingCall(world, company, "voicemail", { voicemailSeconds: 5 })
    const deleteAtCarrier = vi.spyOn(world.ports.voice, "deleteRecording")
    deleteAtCarrier.mockRejectedValueOnce(new ProviderOutcomeUnknown("nothing"))
    expect((await removeRecording(world, company, callId)).body).toEqual({ deleted: 1 })
    await world.operate("wait")
    await retryJobsOf(world, company.companyId, "delete-recording")
    expect(deleteAtCarrier.mock.calls.length).toBeGreaterThan(1)
    const { rows } =
      await sql`select from ledger.blobs where blob_id = ${`${callId}-voicemail`}`.execute(
        world.ports.readAll,
      )
    expect(rows).toHaveLength(0)
  })
})
