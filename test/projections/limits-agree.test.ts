import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ledgerStream } from "../../domain/charging/ledger.ts"
import { readLimits } from "../../domain/charging/ledger-views.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { fundsOf, unbalanced } from "../../projections/accounts.ts"
import { limitStandings } from "../../projections/limits.ts"
import { LEDGER } from "../../src/aggregates.ts"
import { causedBy } from "../../src/envelope.ts"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(async () => {
  await world.close()
})

const SECOND = 1_000
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR

type Step =
  | { readonly does: "command"; readonly command: LedgerCommand }
  | { readonly does: "pass"; readonly ms: number }
  | { readonly does: "border" }
  | { readonly does: "end"; readonly place: number; readonly how: "close" | "give back" | "part" }

const personIds = fc.constantFrom("p1", "p2")
const keyIds = fc.constantFrom("k1", "k2")
const amount = fc.constantFrom<Micros[]>(0, 1, 9_000, 1_000_000)

const limit = fc
  .oneof(
    fc.record({
      holder: fc.constant("company" as const),
      holderId: fc.constant(null),
      class: fc.constantFrom("ai" as const, "general" as const),
      period: fc.constantFrom("week" as const, "month" as const),
      leaveKeysOut: fc.constant(false),
    }),
    fc.record({
      holder: fc.constant("person" as const),
      holderId: personIds,
      class: fc.constantFrom("ai" as const, "general" as const),
      period: fc.constantFrom("week" as const, "month" as const),
      leaveKeysOut: fc.boolean(),
    }),
    fc.record({
      holder: fc.constant("key" as const),
      holderId: keyIds,
      class: fc.constant("all" as const),
      period: fc.constantFrom("day" as const, "week" as const, "month" as const),
      leaveKeysOut: fc.constant(false),
    }),
  )
  .chain((named) =>
    fc.constantFrom(0, 20_000, 5_000_000).map((amountMicros) => ({ ...named, amountMicros })),
  )

const spender = fc.oneof(
  fc.record({ via: fc.constant("own_key" as const), keyId: keyIds, personId: personIds }),
  fc.record({
    via: fc.constant("shared_key" as const),
    keyId: keyIds,
    personId: fc.option(personIds),
  }),
  fc.record({ via: fc.constant("person" as const), keyId: fc.constant(null), personId: personIds }),
  fc.constant({ via: "company" as const, keyId: null, personId: null }),
)

let charges = 0

const charge = fc
  .tuple(spender, amount, fc.constantFrom("ai" as const, "general" as const), fc.boolean())
  .map(([by, amountMicros, charged, open]): LedgerCommand => {
    charges += 1
    return {
      type: "Charge",
      chargeId: `chg_${charges}`,
      ...by,
      class: charged,
      item: "thing",
      quantity: 1,
      unitPriceMicros: amountMicros,
      priceVersion: 1,
      amountMicros,
      resource: null,
      requestedAt: 0,
      dueAt: null,
      servedFrom: null,
      open,
      exempt: null,
      searchedTo: null,
    }
  })

const command = fc.oneof(
  { weight: 6, arbitrary: charge },
  {
    weight: 2,
    arbitrary: limit.map((set): LedgerCommand => ({
      type: "SetLimit",
      ...set,
      remindersMicros: [1, 2],
    })),
  },
  {
    weight: 1,
    arbitrary: limit.map(({ holder: by, holderId, class: named }): LedgerCommand => ({
      type: "RemoveLimit",
      holder: by,
      holderId,
      class: named,
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constant<LedgerCommand>({
      type: "AddFunds",
      amountMicros: 1_000_000,
      reference: null,
    }),
  },
)

const step = fc.oneof(
  { weight: 8, arbitrary: command.map((given): Step => ({ does: "command", command: given })) },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(1, HOUR, DAY, 7 * DAY, 31 * DAY)
      .map((ms): Step => ({ does: "pass", ms })),
  },
  { weight: 2, arbitrary: fc.constant<Step>({ does: "border" }) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.nat(20), fc.constantFrom("close" as const, "give back" as const, "part" as const))
      .map(([place, how]): Step => ({ does: "end", place, how })),
  },
)

/** Plays a history on a company's ledger. Answers after each step what the caller looks at. */
async function play(companyId: string, steps: readonly Step[], look: () => Promise<void>) {
  const stream = ledgerStream(companyId)
  const cause = causedBy("test")
  const view = () => undefined
  const open: { id: string; amount: number }[] = []
  const run = (given: LedgerCommand) =>
    world.ports.runner.execute(LEDGER, stream, given, { cause, view })
  const pass = (ms: number) => world.ports.setClock?.(world.ports.clock.now() + ms)
  for (const one of steps) {
    if (one.does === "pass") await pass(one.ms)
    // The last millisecond of a day, and the first of the next.
    if (one.does === "border") await pass(DAY - (world.ports.clock.now() % DAY) - 1)
    if (one.does === "command") {
      const { accepted } = await run(one.command)
      const { command: given } = one
      if (accepted && given.type === "Charge" && given.open) {
        open.push({ id: given.chargeId, amount: given.amountMicros })
      }
    }
    if (one.does === "end" && open.length > 0) {
      const [ended] = open.splice(one.place % open.length, 1)
      if (ended === undefined) continue
      const { id: chargeId, amount: charged } = ended
      const part = one.how === "part" && charged > 1 ? 1 : null
      await (one.how === "close"
        ? run({ type: "CloseCharges", chargeIds: [chargeId] })
        : run({ type: "GiveBack", chargeId, amountMicros: part, reason: "test" }))
    }
    await look()
  }
}

describe("the limits, the funds and the accounts of the read models", () => {
  it("are what the ledger itself has, on random histories over all borders", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        const { companyId } = await makeCompany(world, "10")
        const stream = ledgerStream(companyId)
        let looks = 0
        await play(companyId, steps, async () => {
          looks += 1
          if (looks % 5 !== 0 && looks !== steps.length) return
          await world.ports.projector.waitFor(await world.ports.store.head(), 20_000)
          const ledger = await world.ports.runner.look(LEDGER, stream, (state, at) => ({
            limits: readLimits(state, at),
            funds: accountOf(state).fundsMicros,
          }))
          const at = world.ports.clock.now()
          const shown = await limitStandings(world.ports.readAll, companyId, at)
          const placeOf = (one: { holder: string; holderId: string | null; class: string }) =>
            `${one.holder} ${one.holderId} ${one.class}`
          const sorted = <T extends Parameters<typeof placeOf>[0]>(all: readonly T[]) =>
            all.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
          expect(sorted(shown).map(({ leaveKeysOut: _kept, ...one }) => one)).toEqual(
            sorted(ledger.limits).map(({ askedMicros: _asked, ...one }) => one),
          )
          expect(await fundsOf(world.ports.readAll, companyId)).toBe(ledger.funds)
        })
        expect(await unbalanced(world.ports.readAll)).toEqual([])
      }),
      { numRuns: 12 },
    )
    const { ok, projections } = await world.operate("projections verify")
    expect(projections.filter((one: { same: boolean }) => !one.same)).toEqual([])
    expect(ok).toBe(true)
  }, 120_000)

  it("show a limit of a window that passed without spending as unused", async () => {
    const { companyId, ownerId, key, keyId } = await makeCompany(world)
    const company = companyId
    await world.operate("limit set", { company, key: keyId, period: "day", dollars: "1" })
    const week = { company, person: ownerId, class: "general", period: "week", dollars: "2" }
    await world.operate("limit set", week)
    const month = { company, class: "general", period: "month", dollars: "3" }
    await world.operate("limit set", month)
    const body = { to: "+14155550123", body: "Hi" }
    await world.call(key, "POST", "/api/v1/phone/messages", { body })
    const used = async () => {
      await world.operate("wait")
      const at = world.ports.clock.now()
      const shown = await limitStandings(world.ports.readAll, companyId, at)
      return shown.map((one) => [
        one.period,
        one.usedMicros,
        one.remainingMicros,
        one.resetsAt > at,
      ])
    }
    const [of, left] = [9_000, (dollars: number) => dollars * 1_000_000]
    expect(await used()).toEqual([
      ["month", of, left(3) - of, true],
      ["week", of, left(2) - of, true],
      ["day", of, left(1) - of, true],
    ])
    await world.operate("clock advance", { duration: "40d" })
    expect(await used()).toEqual([
      ["month", 0, left(3), true],
      ["week", 0, left(2), true],
      ["day", 0, left(1), true],
    ])
  })
})
