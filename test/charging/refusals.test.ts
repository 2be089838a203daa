import { refusalsStreamOf } from "../../domain/charging/aggregates.ts"
import { describe, expect, it } from "vitest"
import type { ChargeRefused } from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { RefusalEvent } from "../../domain/charging/refusals.ts"
import { refusalKindOf, refusalsDecider } from "../../domain/charging/refusals.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import { NOW, CHARGE_REQUEST, isoInstant } from "./ledger-facts.ts"

const reading: LimitReading = {
  holder: "key",
  holderId: "key_1",
  class: "all",
  period: "day",
  amountMicros: 9_000,
  usedMicros: 9_000,
  unrecordedMicros: 0,
  remainingMicros: 0,
  askedMicros: 9_000,
  windowStart: isoInstant("2026-03-02"),
  resetsAt: isoInstant("2026-03-03"),
}
const refused = (changed: Partial<ChargeRefused> = {}): ChargeRefused => ({
  type: "ChargeRefused",
  ...CHARGE_REQUEST,
  at: NOW,
  isPending: true,
  exemption: null,
  code: "spend_limit_reached",
  ledgerRevision: 3,
  fundsMicros: 0,
  creditLineMicros: 0,
  prepaidOnly: false,
  unrecordedMicros: 0,
  limits: [reading],
  refusingLimit: 0,
  ...changed,
})
const record = (...stored: readonly ChargeRefused[]) =>
  ({ type: "RecordRefusals", at: NOW, refusals: stored }) as const
const counted = (count: number, refusal = refused()): RefusalEvent => ({
  type: "RefusalsCounted",
  at: NOW,
  counters: [
    { kind: refusalKindOf(refusal), minute: Math.floor(refusal.at / 60_000) * 60_000, count },
  ],
})

describe("RecordRefusals", () => {
  it("stores the first refusal of a kind with all its evidence", () => {
    given(refusalsDecider).when(record(refused())).records(refused())
  })

  it("counts further ones, in one batch or several", () => {
    const again = refused({ chargeId: "chg_2" })
    given(refusalsDecider)
      .when(record(refused(), again, again))
      .records(refused(), counted(2))
    given(refusalsDecider, refused()).when(record(again)).records(counted(1))
  })

  it("counts per minute", () => {
    const [first, next] = [refused(), refused({ at: NOW + 60_000 })]
    given(refusalsDecider, refused())
      .when(record(first, next, next))
      .records({
        type: "RefusalsCounted",
        at: NOW,
        counters: [
          { kind: refusalKindOf(first), minute: NOW, count: 1 },
          { kind: refusalKindOf(next), minute: NOW + 60_000, count: 2 },
        ],
      })
  })

  it.each([
    ["another key", refused({ keyId: "key_2" })],
    ["another person", refused({ personId: "per_2" })],
    ["another reason", refused({ code: "payment_required", refusingLimit: null })],
    ["another limit", refused({ limits: [{ ...reading, holder: "company", holderId: null }] })],
    ["another period", refused({ limits: [{ ...reading, period: "week" }] })],
    [
      "another window",
      refused({ limits: [{ ...reading, windowStart: isoInstant("2026-03-03") }] }),
    ],
  ])("stores refusals with %s in full", (_case, other) => {
    given(refusalsDecider, refused()).when(record(other)).records(other)
  })

  it("stores a refusal for missing funds in full once a day", () => {
    const short = (when: number) =>
      refused({ at: when, code: "payment_required", limits: [], refusingLimit: null })
    const lastOfDay = short(isoInstant("2026-03-02T23:59:59.999Z"))
    given(refusalsDecider, short(NOW)).when(record(lastOfDay)).records(counted(1, lastOfDay))
    given(refusalsDecider, short(NOW))
      .when(record(short(isoInstant("2026-03-03"))))
      .records(short(isoInstant("2026-03-03")))
  })

  it("records nothing without refusals", () => {
    given(refusalsDecider, refused()).when(record()).recordsNothing()
  })
})

describe("the state of refusals", () => {
  it("forgets kinds whose window has ended", () => {
    const days = Array.from({ length: 50 }, (_, i) => {
      const [windowStart, resetsAt] = [NOW + i * 86_400_000, NOW + (i + 1) * 86_400_000]
      return refused({ at: windowStart, limits: [{ ...reading, windowStart, resetsAt }] })
    })
    expect(foldFacts(refusalsDecider, ...days).kinds.size).toBe(1)
  })

  it("remembers a kind until its window ends, whatever other refusals follow", () => {
    const weekly = { ...reading, period: "week", resetsAt: isoInstant("2026-03-09") } as const
    const kept = refused({ limits: [weekly] })
    const short = refused({ code: "payment_required", limits: [], refusingLimit: null })
    const other = refused({ keyId: "key_2", at: isoInstant("2026-03-02T23:00:00Z") })
    const nextDay = refused({ keyId: "key_3", at: isoInstant("2026-03-03T23:00:00Z") })
    given(refusalsDecider, short, other).when(record(short)).records(counted(1, short))
    given(refusalsDecider, kept, other, nextDay).when(record(kept)).records(counted(1, kept))
  })

  it("forgets a refusal for missing funds at the end of its day", () => {
    const days = Array.from({ length: 50 }, (_, i) => {
      return refused({ at: NOW + i * 86_400_000, code: "payment_required", refusingLimit: null })
    })
    expect(foldFacts(refusalsDecider, ...days).kinds.size).toBe(1)
  })

  it("does not change with counts", () => {
    given(refusalsDecider, refused(), counted(3)).when(record(refused())).records(counted(1))
    const other = refused({ keyId: "key_2" })
    given(refusalsDecider, refused(), counted(3)).when(record(other)).records(other)
  })

  it("has its own stream, so that refusals do not grow the ledger", () => {
    expect(refusalsStreamOf("co_1").stream).toBe("refusals-co_1")
  })
})
