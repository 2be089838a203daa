/** Whoever dies where, and whatever the carrier says late, twice or never: each call ends, and is paid once. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { runsOf } from "../charging/runs.ts"
import { REACTIONS } from "./voice-processes.ts"
import type { History } from "./voice-steps.ts"
import { Play, histories, wrongWith } from "./voice-steps.ts"

/** What has to happen in so many histories, so that they show anything. */
const HAPPENS = [
  "CallMinuteRefused",
  "CallJoined",
  "VoicemailBegun",
  "NoticeBegun",
  "ChargeGivenBack",
  "ChargesClosed",
  "AudioSaved",
  "outcome answered",
  "outcome voicemail",
  "outcome missed",
]

/** Plays a history to its end; what is wrong with it. */
async function played(
  history: History,
  seen: Map<string, number>,
  reactions?: readonly Reaction[],
) {
  const one = new Play(reactions)
  await one.open(history)
  for (const step of history.steps) await one.step(step)
  await one.end()
  return wrongWith(one.world, seen)
}

describe("calls of several processes", () => {
  it("end, and keep the minutes that were spoken", { timeout: 600_000 }, async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(histories(140), async (history) => {
        expect(await played(history, seen)).toEqual([])
      }),
      { ...runsOf(400, 5_000), endOnFailure: true },
    )
    expect(HAPPENS.filter((what) => !seen.has(what))).toEqual([])
  })

  const without = (...kinds: readonly string[]) =>
    REACTIONS.filter(({ kind }) => !kinds.includes(kind))

  it.each([
    ["free no slot", without("free-call-slot"), /slots of/],
    [
      "pay no minute behind the first",
      without("call-minute", "end-charge"),
      /is open|is paying|minutes of/,
    ],
  ])("are seen to be wrong where they %s", async (_what, reactions, wrong) => {
    const found: string[] = []
    const property = fc.asyncProperty(histories(140), async (history) => {
      const now = await played(history, new Map(), reactions)
      found.push(...now)
      return now.length === 0
    })
    const details = await fc.check(property, { numRuns: 300, endOnFailure: true })
    expect(details.failed).toBe(true)
    expect(found.join(" ")).toMatch(wrong)
  })
})
