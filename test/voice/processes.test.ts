/** Whoever dies where, and whatever the carrier says late, twice or never: each call ends, and is paid once. */
import fc from "fast-check"
import { expect, it } from "vitest"
import { runsOf } from "../charging/runs.ts"
import { Play, histories, wrongWith } from "./voice-steps.ts"

/** What has to happen in so many histories, so that they show anything. */
const HAPPENS = [
  ...["CallMinuteRefused", "CallJoined", "VoicemailBegun", "NoticeBegun", "ChargeGivenBack"],
  ...["ChargesClosed", "AudioSaved", "outcome answered", "outcome voicemail", "outcome missed"],
]

it(
  "calls of several processes end, and keep the minutes that were spoken",
  { timeout: 600_000 },
  async () => {
    const seen = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(histories(140), async (history) => {
        const played = new Play()
        await played.open(history)
        for (const one of history.steps) await played.step(one)
        await played.end()
        expect(await wrongWith(played.world, seen)).toEqual([])
      }),
      { ...runsOf(400, 5_000), endOnFailure: true },
    )
    expect(HAPPENS.filter((what) => !seen.has(what))).toEqual([])
  },
)
