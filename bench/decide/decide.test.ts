import { describe, expect, it } from "vitest"
import type { Charged } from "../../domain/charging/ledger-events.ts"
import { ledgerCodec } from "../../domain/charging/ledger-events.ts"
import { NO_HASH, causedBy, wrapFact } from "../../src/frame/kernel/envelope.ts"
import { InvalidMeasurement } from "../benchmark.ts"
import { openBareSums } from "./bare-sums.ts"
import { openLedgerSimulation } from "./ledger-simulation.ts"
import { MEAN_CALL_INTERVAL_MS, openTraffic } from "./traffic.ts"
import { BENCH_STREAM, checkWrittenEvents, openEventWriter } from "./event-writer.ts"

const SIZE = { people: 10, keys: 50 }
const DAY_MS = 86_400_000
const STEP_CALLS = 1_000
/** So many steps take more than a day, half of them do not. */
const STEPS = Math.ceil((DAY_MS / MEAN_CALL_INTERVAL_MS / STEP_CALLS) * 1.2)

function chargedIn(charges: number): readonly Charged[] {
  const { events } = openLedgerSimulation(SIZE, 1).step(charges)
  return events.filter((event) => event.type === "Charged")
}

describe("the traffic", () => {
  it("is the same for the same seed, and another for another", () => {
    const keyIds = (seed: number) =>
      openTraffic(SIZE, seed)
        .charges(50)
        .map(({ command }) => command.keyId)
    expect(keyIds(1)).toEqual(keyIds(1))
    expect(keyIds(1)).not.toEqual(keyIds(2))
  })

  it("has both classes, own and shared keys, open and final charges, and ids of its own", () => {
    const charges = openTraffic(SIZE, 1).charges(500)
    const kinds = (kind: (charge: (typeof charges)[number]["command"]) => unknown) =>
      new Set(charges.map(({ command }) => kind(command)))
    expect(kinds((charge) => charge.class)).toEqual(new Set(["ai", "general"]))
    expect(kinds(({ via }) => via)).toEqual(new Set(["own_key", "app_key"]))
    expect(kinds(({ isPending }) => isPending)).toEqual(new Set([true, false]))
    expect(kinds(({ chargeId }) => chargeId).size).toBe(500)
    const times = charges.map(({ stamp: { at } }) => at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })
})

describe("spending", () => {
  it("passes the audit of its facts, and keeps few charges open", () => {
    const spending = openLedgerSimulation(SIZE, 1)
    let accepted = 0
    for (let step = 0; step < STEPS; step += 1) accepted += spending.step(STEP_CALLS).count
    expect(() => spending.check()).not.toThrow()
    expect(accepted).toBeLessThan(STEPS * STEP_CALLS)
    const types = new Set(spending.step(STEP_CALLS).events.map(({ type }) => type))
    expect(types).toContain("ChargesSettled")
    expect(types).toContain("ChargeReduced")
  })

  it("is not what was promised where no day has ended", () => {
    const spending = openLedgerSimulation(SIZE, 1)
    for (let step = 0; step < STEPS / 2; step += 1) spending.step(STEP_CALLS)
    expect(() => spending.check()).toThrow("no day ended")
  })

  it("is not what was promised where too much is refused", () => {
    const spending = openLedgerSimulation(SIZE, 1)
    // In a single step no charge is settled, and soon no more charges may be pending.
    spending.step(STEPS * STEP_CALLS)
    expect(() => spending.check()).toThrow(/^\d\d\.\d % of the charges were refused$/)
  })
})

describe("the bare sums", () => {
  it("hold all that was added", () => {
    const sums = openBareSums(SIZE, 1)
    sums.draw(100)
    expect(sums.step().count + sums.step().count).toBe(200)
    expect(() => sums.check()).not.toThrow()
  })
})

describe("writing down", () => {
  const facts = chargedIn(20)

  function written(change: (text: string) => string = (text) => text) {
    let hash = NO_HASH
    const wrapped = facts.map((fact, revision) => {
      const place = { stream: BENCH_STREAM, revision, previousHash: hash }
      const one = wrapFact(ledgerCodec, fact, place, causedBy("test"))
      hash = one.hash
      return { ...one, proposed: { ...one.proposed, data: change(one.proposed.data) } }
    })
    return { facts, wrapped, revision: 0, hash: NO_HASH }
  }

  it("makes texts that pass", () => {
    const writing = openEventWriter()
    expect(writing.step(facts.slice(0, 5)).count).toBe(5)
    expect(writing.step(facts.slice(5)).count).toBe(facts.length - 5)
    expect(() => writing.check()).not.toThrow()
    expect(() => checkWrittenEvents(written())).not.toThrow()
  })

  it.for([
    ["no facts", { facts: [], wrapped: [] }],
    ["a fact without text", { wrapped: written().wrapped.slice(1) }],
    ["text of another fact", { facts: facts.toReversed() }],
    ["text that is not canonical", written((data) => data.replace("{", "{ "))],
    ["a chain that begins elsewhere", { hash: "f".repeat(64) }],
    ["another revision", { revision: 1 }],
  ] as const)("fails on %s", ([, change]) => {
    expect(() => checkWrittenEvents({ ...written(), ...change })).toThrow(InvalidMeasurement)
  })
})
