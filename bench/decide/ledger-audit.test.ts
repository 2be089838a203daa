import { describe, expect, it } from "vitest"
import type {
  ChargeReduced,
  Charged,
  LedgerEvent,
  LimitSet,
} from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import { InvalidMeasurement } from "../benchmark.ts"
import type { LedgerReport } from "./ledger-audit.ts"
import { openTraffic } from "./traffic.ts"
import { checkCalls, openLedgerAudit } from "./ledger-audit.ts"

/** A Sunday: the next day begins another week, and the one after it another month. */
const SUNDAY = Date.UTC(2026, 10, 29, 12)
const DAY_MS = 86_400_000

const added: LedgerEvent = { type: "FundsAdded", at: SUNDAY, amountMicros: 100, reference: null }

function limit(change: Partial<LimitSet>): LimitSet {
  return {
    type: "LimitSet",
    at: SUNDAY,
    holder: "key",
    holderId: "key_a",
    class: "all",
    period: "day",
    amountMicros: 50,
    remindersMicros: [],
    leaveKeysOut: false,
    ...change,
  }
}

function charged(chargeId: string, amountMicros: number, change: Partial<Charged> = {}): Charged {
  return {
    type: "Charged",
    at: SUNDAY,
    chargeId,
    via: "own_key",
    keyId: "key_a",
    personId: "per_a",
    class: "general",
    item: "test",
    quantity: 1,
    unitPriceMicros: amountMicros,
    priceVersion: 1,
    amountMicros,
    resource: null,
    requestedAt: SUNDAY,
    dueAt: null,
    servedFrom: null,
    isPending: false,
    exemption: null,
    isExternalId: false,
    isAlreadyCounted: false,
    ...change,
  }
}

function refundFact(chargeId: string, at: number): ChargeReduced {
  const { via, keyId, personId, class: spent, item, resource } = charged(chargeId, 30)
  const whose = { via, keyId, personId, class: spent, item, resource }
  const { reason, chargedAt } = { reason: "test", chargedAt: SUNDAY }
  return {
    type: "ChargeReduced",
    at,
    chargeId,
    amountMicros: 30,
    countedAt: chargedAt,
    reason,
    ...whose,
  }
}

function reading({ holder, holderId, class: limited }: LimitSet, usedMicros: number): LimitReading {
  return {
    holder,
    holderId,
    class: limited,
    period: "day",
    amountMicros: 50,
    usedMicros,
    unrecordedMicros: 0,
    remainingMicros: 0,
    askedMicros: 0,
    windowStart: 0,
    resetsAt: 0,
  }
}

function auditOf(events: readonly LedgerEvent[]) {
  const audit = openLedgerAudit()
  for (const event of events) audit.record(event)
  return audit
}

describe("what the facts show", () => {
  it("is a charge over a limit", () => {
    const facts = [added, limit({}), charged("a", 30), charged("b", 20)]
    const audit = auditOf(facts)
    expect(() => audit.record(charged("c", 1))).toThrow(
      "c was accepted over the limit key key_a all",
    )
  })

  it("is no charge over a limit in the next day, for a limit of a day", () => {
    const audit = auditOf([added, limit({}), charged("a", 50)])
    audit.record(charged("b", 50, { at: SUNDAY + DAY_MS }))
    const late = charged("c", 1, { at: SUNDAY + DAY_MS })
    expect(() => audit.record(late)).toThrow(InvalidMeasurement)
  })

  it.for([
    ["week", 1],
    ["month", 2],
  ] as const)("is a charge over a limit of a %s until it ends", ([period, days]) => {
    const ofPerson = { holder: "person", holderId: "per_a", class: "general", period } as const
    const before = [added, limit(ofPerson), charged("a", 50)]
    const early = charged("b", 1, { at: SUNDAY + (days - 1) * DAY_MS })
    const late = charged("b", 1, { at: SUNDAY + days * DAY_MS })
    expect(() => auditOf([...before, early])).toThrow(InvalidMeasurement)
    expect(() => auditOf([...before, late])).not.toThrow()
  })

  it("leaves own keys out where a limit does, and other classes", () => {
    const ofPerson = { holder: "person", holderId: "per_a", class: "general" } as const
    const limits = [added, limit({ ...ofPerson, leaveKeysOut: true, amountMicros: 0 })]
    expect(() => auditOf([...limits, charged("a", 1)])).not.toThrow()
    expect(() => auditOf([...limits, charged("a", 1, { class: "ai" })])).not.toThrow()
    expect(() => auditOf([...limits, charged("a", 1, { via: "app_key" })])).toThrow(
      InvalidMeasurement,
    )
  })

  it("is a charge without funds for it", () => {
    expect(() => auditOf([added, charged("a", 101)])).toThrow("without funds")
  })

  it("is a charge that ends without being open, or twice", () => {
    const open = charged("a", 30, { isPending: true })
    const closed: LedgerEvent = { type: "ChargesSettled", at: SUNDAY, chargeIds: ["a"] }
    expect(() => auditOf([added, closed])).toThrow("was not open")
    expect(() => auditOf([added, open, closed, closed])).toThrow("was not open")
    expect(() => auditOf([added, open, closed, refundFact("a", SUNDAY)])).toThrow("was not open")
  })
})

describe("what a ledger says of itself", () => {
  const ofKey = limit({})
  const facts = [added, ofKey, charged("a", 20), charged("b", 30, { isPending: true })]
  const honest: LedgerReport = {
    acknowledged: 2,
    fundsMicros: 50,
    openCharges: ["b"],
    limits: [reading(ofKey, 50)],
  }

  it("is believed where the facts say the same", () => {
    expect(() => auditOf(facts).compare(honest)).not.toThrow()
  })

  it.for([
    ["a yes without a fact", { acknowledged: 3 }],
    ["a fact without a yes", { acknowledged: 1 }],
    ["funds that were not spent", { fundsMicros: 80 }],
    ["a charge that is not open any more", { openCharges: [] }],
    ["another charge that is open", { openCharges: ["a"] }],
    ["a sum that is too small", { limits: [reading(ofKey, 49)] }],
    ["a limit that is gone", { limits: [] }],
    ["a limit that was never set", { limits: [reading(limit({ holderId: "key_b" }), 50)] }],
  ] as const)("is not believed: %s", ([, change]) => {
    expect(() => auditOf(facts).compare({ ...honest, ...change })).toThrow(InvalidMeasurement)
  })

  it("counts what came back out of the windows that it was charged in", () => {
    const today = auditOf([...facts, refundFact("b", SUNDAY)])
    const whole = { ...honest, fundsMicros: 80, openCharges: [] }
    expect(() => today.compare({ ...whole, limits: [reading(ofKey, 20)] })).not.toThrow()
    const tomorrow = auditOf([...facts, refundFact("b", SUNDAY + DAY_MS)])
    expect(() => tomorrow.compare({ ...whole, limits: [reading(ofKey, 0)] })).not.toThrow()
  })
})

describe("the charges among facts", () => {
  const drawn = openTraffic({ people: 5, keys: 20 }, 1).charges(3)
  const calls = drawn.map(({ command }) => command)
  const [first, second] = drawn.map(({ command, stamp: { at } }) => {
    const { type: _type, searchedUpTo: _searchedTo, ...asked } = command
    return charged(command.chargeId, command.amountMicros, { ...asked, at })
  }) as [Charged, Charged, Charged]

  it("are those of the calls that were made, some of which were refused", () => {
    expect(() => checkCalls(calls, [first, second])).not.toThrow()
    expect(() => checkCalls(calls, [added, second])).not.toThrow()
  })

  it.for([
    ["another amount", [{ ...first, amountMicros: first.amountMicros + 1 }]],
    ["another key", [{ ...first, keyId: "key_b" }]],
    ["another end", [{ ...first, isPending: !first.isPending }]],
    ["the same twice", [first, first]],
    ["another order", [second, first]],
    ["a call that was never made", [{ ...first, chargeId: "chg_b" }]],
  ] as const)("are not %s", ([, events]) => {
    expect(() => checkCalls(calls, events)).toThrow(InvalidMeasurement)
  })
})
