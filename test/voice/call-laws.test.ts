/** The laws of a call hold in tens of thousands of calls, whatever of them is late, doubled or lost. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { call } from "../../domain/voice/call.ts"
import { runsOf } from "../charging/runs.ts"
import { LAWS, plans } from "./call-laws.ts"
import { playCall } from "./call-model.ts"

/** What is wrong with a call, by the laws. */
const broken = (played: ReturnType<typeof playCall>) =>
  Object.entries(LAWS).flatMap(([name, law]) => {
    const wrong = law(played)
    return wrong === null ? [] : [`${name satisfies string}: ${wrong}`]
  })

describe("60,000 random calls", () => {
  it("break no law", () => {
    const seen = new Map<string, number>()
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
    fc.assert(
      fc.property(plans, (plan) => {
        const played = playCall(call, plan)
        for (const { type } of played.facts) count(type)
        count(played.state.call?.outcome ?? "none")
        const wrong = broken(played)
        if (wrong.length > 0) expect(wrong).toEqual([])
      }),
      runsOf(60_000),
    )
    // Everything happened, and often.
    const often = ["CallJoined", "VoicemailBegun", "CallMinuteRefused", "NoticeBegun", "LegAsked"]
    const all: readonly string[] = [...often, "answered", "voicemail", "missed"]
    expect(all.filter((one) => (seen.get(one) ?? 0) < 100)).toEqual([])
  })
})
