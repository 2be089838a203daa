import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { histories } from "./histories.ts"
import type { History } from "./histories.ts"
import { LAWS, type LawName } from "./laws.ts"
import { type Trace, play } from "./play.ts"
import { realLedger } from "./subject.ts"

// LEDGER_DEEP=1 goes through more than a million commands and takes minutes.
const isDeep = process.env["LEDGER_DEEP"] === "1"
const numRuns = isDeep ? 1_500 : 100
const maxTurns = isDeep ? 250 : 80

describe("the ledger keeps the law", () => {
  it.each(Object.keys(LAWS) as LawName[])(
    "%s",
    (name) => {
      fc.assert(
        fc.property(histories(maxTurns), (history) => {
          expect(LAWS[name](play(realLedger, history), realLedger)).toBeNull()
        }),
        { numRuns },
      )
    },
    600_000,
  )

  it("agreesWithThePlainOne, over at least two hundred commands", () => {
    const long = histories(260).filter(({ turns }) => turns.length >= 200)
    fc.assert(
      fc.property(long, (history) => {
        const trace = play(realLedger, history)
        expect(LAWS.agreesWithThePlainOne(trace, realLedger)).toBeNull()
      }),
      { numRuns: 4 },
    )
  })
})

describe("the histories", () => {
  let traces: readonly Trace[] = []
  beforeAll(() => {
    const sample: readonly History[] = fc.sample(histories(80), { numRuns: 250, seed: 4 })
    traces = sample.map((history) => play(realLedger, history))
  })
  const moves = () => traces.flatMap((trace) => trace.moves)

  it("lead to every fact", () => {
    const types = new Set(traces.flatMap(({ facts }) => facts.map(({ type }) => type)))
    expect([...types].sort()).toEqual([
      "AccountLocked",
      "AccountUnlocked",
      "ChargeGivenBack",
      "Charged",
      "ChargesClosed",
      "FundsAdded",
      "LedgerOpened",
      "LimitRemoved",
      "LimitSet",
      "MonthClosed",
      "ReminderReached",
    ])
  })

  it("lead to every no, by every holder", () => {
    const codes = new Set<string>()
    for (const { answer } of moves()) {
      if (!("code" in answer)) continue
      const by = answer.type === "ChargeRefused" ? answer.limits[answer.refusedBy ?? -1] : undefined
      codes.add(by === undefined ? answer.code : `${answer.code} by ${by.holder}`)
    }
    expect([...codes].sort()).toEqual([
      "account_locked",
      "bad_amount",
      "bad_limit",
      "no_such_limit",
      "payment_required",
      "spend_limit_reached by company",
      "spend_limit_reached by key",
      "spend_limit_reached by person",
    ])
  })

  it("stand on the borders: fills to the micro, and one micro over", () => {
    const over = moves().filter(({ answer }) => {
      if (!("code" in answer) || answer.type !== "ChargeRefused") return false
      const limit = answer.limits[answer.refusedBy ?? -1]
      return limit !== undefined && limit.usedMicros + limit.askedMicros === limit.amountMicros + 1
    })
    const filled = moves().filter(({ command, answer, limits }) => {
      if (command.type !== "Charge" || command.amountMicros === 0 || "code" in answer) return false
      return limits.some((limit) => limit.usedMicros === limit.amountMicros)
    })
    expect(over.length).toBeGreaterThan(100)
    expect(filled.length).toBeGreaterThan(100)
  })

  it("stand on the borders: the last millisecond of a window, and the first of the next", () => {
    const charged = traces.flatMap(({ facts }) => facts.filter(({ type }) => type === "Charged"))
    const last = charged.filter(({ at }) => (at + 1) % 86_400_000 === 0)
    const first = charged.filter(({ at }) => at % 86_400_000 === 0)
    expect(last.length).toBeGreaterThan(50)
    expect(first.length).toBeGreaterThan(50)
  })

  it("give back after the window has ended", () => {
    const late = traces.flatMap(({ facts }) =>
      facts.filter((fact) => {
        if (fact.type !== "ChargeGivenBack") return false
        return Math.floor(fact.chargedAt / 86_400_000) < Math.floor(fact.at / 86_400_000)
      }),
    )
    expect(late.length).toBeGreaterThan(20)
  })
})
