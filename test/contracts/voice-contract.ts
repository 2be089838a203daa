/** The contract of every carrier of calls: its eight commands, its events, and recordings. */
import { describe, expect, it } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { VoiceCarrier, VoiceEvent, VoiceLeg } from "../../adapters/providers/voice/port.ts"
import { RecordingNotFound } from "../../adapters/providers/voice/port.ts"

export type CalleeAction = "answer" | "hang_up" | "press 1" | "hear"

export interface VoiceUnderTest {
  readonly voice: VoiceCarrier
  /** Simulates an incoming call. @returns the caller's leg */
  readonly callIn: () => Promise<VoiceLeg>
  /** The events so far. */
  readonly events: () => readonly VoiceEvent[]
  /** Simulates a person's action. */
  readonly performAction: (leg: VoiceLeg, does: CalleeAction) => Promise<void>
  /** Makes the next command fail. */
  readonly failNext: (how: "unavailable" | "silent") => Promise<void>
  /** Advances the time by milliseconds. */
  readonly advance: (ms: number) => void
}

type Opened = Extract<VoiceEvent, { type: "leg_open" }>

const NUMBERS = { from: "+12015550100", to: "+14155550101" }

/** Adds the suite for one carrier. */
export function voiceContract(name: string, open: () => Promise<VoiceUnderTest>): void {
  let command = 0
  const id = () => `call_1:${(command += 1)}:0`

  const ringingCall = async () => {
    const opened = await open()
    // Some carriers also report the legs that we placed.
    const events = () => opened.events().filter(({ type }) => type !== "leg_placed")
    const one = { ...opened, events }
    const caller = await one.callIn()
    const execute = (word: "answer" | "reject" | "hang_up", leg = caller, commandId = id()) =>
      one.voice.execute({ word, leg }, commandId)
    const dial = async (leg: number): Promise<VoiceLeg> => {
      const named = { ...caller, leg, ref: null }
      const answer = await one.voice.execute(
        { word: "dial", leg: named, caller, ...NUMBERS, ringSeconds: 25 },
        id(),
      )
      return { ...named, ref: answer.outcome === "done" ? answer.ref : null }
    }
    const kinds = () => one.events().map(({ type }) => type)
    const statusOf = (leg: VoiceLeg) => one.voice.checkLegStatus(leg.ref ?? "")
    return { ...one, caller, execute, dial, kinds, statusOf }
  }

  describe(`${name}, an incoming call`, () => {
    it("is reported with its numbers, and rings until a command or a hang-up", async () => {
      const { events, caller, statusOf } = await ringingCall()
      expect(events()).toMatchObject([
        { type: "call_came", ref: caller.ref, to: expect.any(String) },
      ])
      expect(await statusOf(caller)).toEqual({ isAlive: true, answeredAt: null, endedAt: null })
    })

    it("is answered once for a repeated command, with the time", async () => {
      const { execute, caller, events, statusOf } = await ringingCall()
      const commandId = id()
      for (let i = 0; i < 2; i += 1) {
        expect(await execute("answer", caller, commandId)).toMatchObject({ outcome: "done" })
      }
      const opened = events().filter(({ type }) => type === "leg_open")
      expect(opened).toMatchObject([{ leg: { ref: caller.ref }, answeredAt: expect.any(Number) }])
      const { answeredAt, isAlive } = await statusOf(caller)
      expect(isAlive).toBe(true)
      // The status need not include the time.
      if (answeredAt !== null) expect(opened[0]).toMatchObject({ answeredAt })
    })

    it.each(["reject", "hang_up"] as const)(
      "ends by %s, and then for every command",
      async (word) => {
        const { execute, kinds, caller, statusOf } = await ringingCall()
        expect(await execute(word)).toMatchObject({ outcome: "done" })
        expect(kinds()).toEqual(["call_came", "leg_gone"])
        expect(await statusOf(caller)).toMatchObject({
          isAlive: false,
          endedAt: expect.any(Number),
        })
        expect(await execute("answer")).toEqual({ outcome: "gone" })
      },
    )

    it("ends when the caller hangs up, with both times", async () => {
      const { execute, performAction, caller, events, advance } = await ringingCall()
      await execute("answer")
      advance(61_000)
      await performAction(caller, "hang_up")
      const opened = events().find(({ type }) => type === "leg_open") as Opened
      const gone = events().at(-1) as Extract<VoiceEvent, { type: "leg_gone" }>
      expect(gone).toMatchObject({ type: "leg_gone", leg: { ref: caller.ref } })
      expect(gone.goneAt - opened.answeredAt).toBe(61_000)
      expect([null, opened.answeredAt]).toContain(gone.answeredAt)
    })
  })

  describe(`${name}, a placed leg`, () => {
    it("has our name in all its events, and answers a question", async () => {
      const { dial, performAction, voice, events } = await ringingCall()
      const leg = await dial(2)
      await performAction(leg, "answer")
      const text = "Press 1."
      await voice.execute({ word: "ask", leg, text, waitSeconds: 20 }, id())
      await performAction(leg, "press 1")
      const { companyId, callId } = leg
      const ourName = { kind: "leg", companyId, callId, leg: 2 }
      // A key may be reported twice: by itself, and as the answer to the question.
      expect(events().slice(1, 3)).toMatchObject([
        { type: "leg_open", leg: ourName },
        { type: "digits", leg: ourName, digits: "1" },
      ])
    })

    it("is not placed for a caller that hung up", async () => {
      const { dial, execute } = await ringingCall()
      await execute("hang_up")
      expect((await dial(1)).ref).toBeNull()
    })

    it("hears announcements, and is joined to the caller", async () => {
      const { dial, performAction, voice, execute, caller, kinds } = await ringingCall()
      const leg = await dial(1)
      await performAction(leg, "answer")
      await execute("answer")
      for (const one of [caller, leg]) {
        await voice.execute({ word: "say", leg: one, text: "This call will be recorded." }, id())
        await performAction(one, "hear")
      }
      expect(await voice.execute({ word: "join", leg: caller, other: leg }, id())).toMatchObject({
        outcome: "done",
      })
      expect(kinds().filter((is) => is === "said")).toHaveLength(2)
    })
  })

  describe(`${name}, a recording`, () => {
    it("is reported when its leg ends, can be downloaded, and is deleted for good", async () => {
      const { voice, execute, performAction, caller, events, advance } = await ringingCall()
      await execute("answer")
      await voice.execute(
        { word: "record", leg: caller, kind: "voicemail", mostSeconds: 180 },
        id(),
      )
      advance(12_000)
      await performAction(caller, "hang_up")
      const [ready] = events().filter((event) => event.type === "audio_ready")
      expect(ready).toMatchObject({ kind: "voicemail", seconds: 12 })
      const audioRef = ready?.carrierRef ?? ""
      let bytes = 0
      for await (const piece of await voice.downloadRecording(audioRef)) bytes += piece.length
      expect(bytes).toBeGreaterThan(12 * 1_000)
      for (let i = 0; i < 2; i += 1) await voice.deleteRecording(audioRef)
      await expect(voice.downloadRecording(audioRef)).rejects.toBeInstanceOf(RecordingNotFound)
    })
  })

  describe(`${name}, if a command fails`, () => {
    it("executes nothing if it is unavailable", async () => {
      const { execute, failNext, kinds } = await ringingCall()
      await failNext("unavailable")
      await expect(execute("answer")).rejects.toBeInstanceOf(ProviderUnavailable)
      expect(kinds()).toEqual(["call_came"])
    })

    it("may have executed a command with a lost answer, and does not execute it twice", async () => {
      const { execute, failNext, kinds, caller } = await ringingCall()
      const commandId = id()
      await failNext("silent")
      await expect(execute("answer", caller, commandId)).rejects.toBeInstanceOf(
        ProviderOutcomeUnknown,
      )
      expect(await execute("answer", caller, commandId)).toMatchObject({ outcome: "done" })
      expect(kinds()).toEqual(["call_came", "leg_open"])
    })
  })
}
