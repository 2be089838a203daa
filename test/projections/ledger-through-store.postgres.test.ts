import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import fc from "fast-check"
import { sql } from "kysely"
import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { listUnbalancedCompanies } from "../../projections/charging/accounts.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { PROGRAM } from "../../src/slices.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { type LedgerStep, actionArbitrary, ledgerStep } from "./ledger-steps.ts"
import { commandOfStep, instantAfter } from "./reference-charges.ts"
import { untilReadModelsSettle } from "./settle-read-models.ts"
import { readModelLedgerView, expectedLedgerView } from "./ledger-comparison.ts"

const world = await ownWorld("time")

/** A ledger command, a call with the company's key, or a database fault. */
const turn = fc.oneof(
  { weight: 12, arbitrary: ledgerStep },
  { weight: 2, arbitrary: actionArbitrary("serve", {}) },
  { weight: 1, arbitrary: actionArbitrary("break", {}) },
)
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never

/** Breaks the connections that write read models, at any moment. */
async function breakConnections(): Promise<void> {
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'company-ledger write-behind'`.execute(
    world.ports.readAll,
  )
}

/** Plays a history on a company's ledger and calls `onTurn` after each turn. */
async function play(
  { companyId, key }: { readonly companyId: CompanyId; readonly key: string },
  turns: readonly Turn[],
  onTurn: (i: number) => Promise<void>,
): Promise<void> {
  const stream = ledgerStreamOf(companyId)
  const facts: LedgerEvent[] = []
  const perform = async (given: LedgerStep) => {
    const now = world.ports.clock.now()
    const at = instantAfter(given, now)
    if (at !== now) await world.ports.setClock?.(at)
    const command = commandOfStep(given, facts, at)
    if (command === null) return
    const outcome = await world.ports.runner.execute(stream, command, causedBy("test"))
    if (outcome.accepted) facts.push(...outcome.facts)
  }
  for (const [i, one] of turns.entries()) {
    if (one.does === "break") await breakConnections()
    else if (one.does === "serve") await world.call(key, "GET", "/api/v1/credits")
    else await perform(one)
    await onTurn(i)
  }
}

/** The company's state from its ledger, at the read models' revision, and from the read models. */
async function viewsOf(companyId: CompanyId) {
  await untilReadModelsSettle(world)
  const stream = ledgerStreamOf(companyId)
  const stored = await collectEvents(world.ports.store.read(stream.stream))
  const facts = stored.map((one) => PROGRAM.streams.toRecorded(one).fact as LedgerEvent)
  const { expected, at, windows } = await world.ports.runner.read(stream, (state, now) => {
    return {
      expected: expectedLedgerView(state, facts, now),
      at: now,
      windows: state.counters.windows,
    }
  })
  return { expected, shown: await readModelLedgerView(world.ports.readAll, companyId, at, windows) }
}

describe("the read models of the ledger", () => {
  it("show its state through the store, over broken connections and with active reactions", async () => {
    const turns = fc.array(turn, { minLength: 30, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(turns, async (history) => {
        const company = await makeCompany(world, { funds: "10" })
        await play(company, history, async (i) => {
          if (i % 10 !== 9 && i !== history.length - 1) return
          const { expected, shown } = await viewsOf(company.companyId)
          expect(shown).toEqual(expected)
        })
      }),
      { numRuns: 3, endOnFailure: true },
    )
    expect(await listUnbalancedCompanies(world.ports.readAll, null)).toEqual([])
    const { ok, projections } = await world.operate("projections verify")
    expect(projections.filter((one: { same: boolean }) => !one.same)).toEqual([])
    expect(ok).toBe(true)
  })
})
