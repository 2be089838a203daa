/** What every carrier of calls keeps: what its eight words do, what it says by itself, and recordings. */
import { describe, expect, it } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { VoiceCarrier, VoiceEvent, VoiceLeg } from "../../adapters/providers/voice/port.ts"
import { RecordingNotFound } from "../../adapters/providers/voice/port.ts"

/** What people do on the other side of a carrier. */
export type CalleeAction = "answer" | "hang_up" | "press 1" | "hear"

/** A carrier, as the suite needs it. */
export interface VoiceUnderTest {
  readonly voice: VoiceCarrier
  /** Has somebody call; the caller's leg. */
  readonly callIn: () => Promise<VoiceLeg>
  /** What it said so far. */
  readonly events: () => readonly VoiceEvent[]
  /** Has people do something. */
  readonly performAction: (leg: VoiceLeg, does: CalleeAction) => Promise<void>
  /** How it answers the next command. */
  readonly failNext: (how: "unavailable" | "silent") => Promise<void>
  /** Lets so much time go by, milliseconds. */
  readonly advance: (ms: number) => void
}

type Opened = Extract<VoiceEvent, { type: "leg_open" }>

const NUMBERS = { from: "+12015550100", to: "+14155550101" }

/** The suite. */
export function voiceContract(name: string, open: () => Promise<VoiceUnderTest>): void {
  let command = 0
  const id = () => `call_1:${(command += 1)}:0`

  /** A carrier with a call that waits. */
  const called = async () => {
    const opened = await open()
    // What it calls a leg that we had called, a carrier may say by itself too.
    const events = () => opened.events().filter(({ type }) => type !== "leg_placed")
    const one = { ...opened, events }
    const caller = await one.callIn()
    const give = (word: "answer" | "reject" | "hang_up", leg = caller, commandId = id()) =>
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
    const known = (leg: VoiceLeg) => one.voice.checkLegStatus(leg.ref ?? "")
    return { ...one, caller, give, dial, kinds, known }
  }

  describe(`${name}, a call that came`, () => {
    it("is told with its numbers, and rings until somebody does something", async () => {
      const { events, caller, known } = await called()
      expect(events()).toMatchObject([
        { type: "call_came", ref: caller.ref, to: expect.any(String) },
      ])
      expect(await known(caller)).toEqual({ isAlive: true, answeredAt: null, endedAt: null })
    })

    it("is opened once, whoever asks for it twice, and says when", async () => {
      const { give, caller, events, known } = await called()
      const commandId = id()
      for (let i = 0; i < 2; i += 1) {
        expect(await give("answer", caller, commandId)).toMatchObject({ outcome: "done" })
      }
      const opened = events().filter(({ type }) => type === "leg_open")
      expect(opened).toMatchObject([{ leg: { ref: caller.ref }, answeredAt: expect.any(Number) }])
      const { answeredAt, isAlive } = await known(caller)
      expect(isAlive).toBe(true)
      // A carrier that is asked need not say it once more.
      if (answeredAt !== null) expect(opened[0]).toMatchObject({ answeredAt })
    })

    it.each(["reject", "hang_up"] as const)(
      "is gone by %s, and then for every word",
      async (word) => {
        const { give, kinds, caller, known } = await called()
        expect(await give(word)).toMatchObject({ outcome: "done" })
        expect(kinds()).toEqual(["call_came", "leg_gone"])
        expect(await known(caller)).toMatchObject({ isAlive: false, endedAt: expect.any(Number) })
        expect(await give("answer")).toEqual({ outcome: "gone" })
      },
    )

    it("is gone where the caller hangs up, with both times", async () => {
      const { give, performAction, caller, events, advance } = await called()
      await give("answer")
      advance(61_000)
      await performAction(caller, "hang_up")
      const opened = events().find(({ type }) => type === "leg_open") as Opened
      const gone = events().at(-1) as Extract<VoiceEvent, { type: "leg_gone" }>
      expect(gone).toMatchObject({ type: "leg_gone", leg: { ref: caller.ref } })
      expect(gone.goneAt - opened.answeredAt).toBe(61_000)
      expect([null, opened.answeredAt]).toContain(gone.answeredAt)
    })
  })

  describe(`${name}, a leg that is called`, () => {
    it("is named by us in all that is said of it, and answers what it is asked", async () => {
      const { dial, performAction, voice, events } = await called()
      const leg = await dial(2)
      await performAction(leg, "answer")
      const text = "Press 1."
      await voice.execute({ word: "ask", leg, text, waitSeconds: 20 }, id())
      await performAction(leg, "press 1")
      const { companyId, callId } = leg
      const of = { kind: "leg", companyId, callId, leg: 2 }
      // A key may be told twice: by itself, and as the answer to what was asked.
      expect(events().slice(1, 3)).toMatchObject([
        { type: "leg_open", leg: of },
        { type: "digits", leg: of, digits: "1" },
      ])
    })

    it("is called for nobody who has gone", async () => {
      const { dial, give } = await called()
      await give("hang_up")
      expect((await dial(1)).ref).toBeNull()
    })

    it("hears what is said, and is joined to the caller", async () => {
      const { dial, performAction, voice, give, caller, kinds } = await called()
      const leg = await dial(1)
      await performAction(leg, "answer")
      await give("answer")
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
    it("is told when its leg is gone, is heard, and is forgotten for good", async () => {
      const { voice, give, performAction, caller, events, advance } = await called()
      await give("answer")
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

  describe(`${name}, where it does not answer`, () => {
    it("did nothing where it said so", async () => {
      const { give, failNext, kinds } = await called()
      await failNext("unavailable")
      await expect(give("answer")).rejects.toBeInstanceOf(ProviderUnavailable)
      expect(kinds()).toEqual(["call_came"])
    })

    it("may have done it, and does not do it once more", async () => {
      const { give, failNext, kinds, caller } = await called()
      const commandId = id()
      await failNext("silent")
      await expect(give("answer", caller, commandId)).rejects.toBeInstanceOf(ProviderOutcomeUnknown)
      expect(await give("answer", caller, commandId)).toMatchObject({ outcome: "done" })
      expect(kinds()).toEqual(["call_came", "leg_open"])
    })
  })
}
