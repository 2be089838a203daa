import { describe, expect, it } from "vitest"
import type { AddressTag } from "../../domain/email/ids.ts"
import type { SuppressionCommand } from "../../domain/email/suppressions.ts"
import {
  isSuppressed,
  offersUnsubscribe,
  suppressions,
  suppressionsCheckpoint,
} from "../../domain/email/suppressions.ts"

const TAG = "aa" as AddressTag

function after(...commands: readonly SuppressionCommand[]) {
  const counts: number[] = []
  const state = commands.reduce((known, command) => {
    const events = suppressions.decide(command, known, { at: 0 })
    if (!Array.isArray(events)) throw new Error("nothing is refused")
    counts.push(events.length)
    return events.reduce(suppressions.evolve, known)
  }, suppressions.initial())
  return { state: suppressionsCheckpoint.load(suppressionsCheckpoint.save(state)), counts }
}

const suppress = (sendingDomainId: string | null): SuppressionCommand => ({
  type: "SuppressRecipient",
  tag: TAG,
  to: "s1.aa.a",
  why: "bounced",
  sendingDomainId,
})
const LIFT: SuppressionCommand = { type: "LiftSuppression", tag: TAG }

describe("who must not be written to", () => {
  it("is that from one sending domain or from all", () => {
    const { state } = after(suppress("sdom_1"))
    expect(isSuppressed(TAG, "sdom_1")(state)).toBe(true)
    expect(isSuppressed(TAG, "sdom_2")(state)).toBe(false)
    expect(isSuppressed(TAG, "sdom_2")(after(suppress(null)).state)).toBe(true)
    expect(isSuppressed("bb" as AddressTag, "sdom_1")(state)).toBe(false)
  })

  it("is told once, and lifted as a whole", () => {
    const { state, counts } = after(
      suppress("sdom_1"),
      suppress("sdom_1"),
      suppress(null),
      LIFT,
      LIFT,
    )
    expect(counts).toEqual([1, 0, 1, 1, 0])
    expect(isSuppressed(TAG, "sdom_1")(state)).toBe(false)
  })

  it("is offered to be it where that is on", () => {
    const turn = (isOn: boolean): SuppressionCommand => {
      return { type: "TurnUnsubscribe", sendingDomainId: "sdom_1", isOn }
    }
    const { state, counts } = after(turn(false), turn(true), turn(true))
    expect(counts).toEqual([0, 1, 0])
    expect(offersUnsubscribe("sdom_1")(state)).toBe(true)
    expect(offersUnsubscribe("sdom_1")(after(turn(true), turn(false)).state)).toBe(false)
  })
})
