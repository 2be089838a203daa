import { ledgerOf } from "../../domain/charging/aggregates.ts"
import fc from "fast-check"
import { sql } from "kysely"
import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { unbalanced } from "../../projections/charging/accounts.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { PROGRAM } from "../../src/slices.ts"
import { collect } from "../contracts/event-store-fixture.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { type Step, doing, step } from "./ledger-steps.ts"
import { commandOf, instantAfter } from "./plain-history.ts"
import { settled } from "./settled.ts"
import { shownOf, standingOf } from "./standing.ts"

const world = await ownWorld("time")

/** What a ledger is asked to do, a call that its key makes, or a fault of the database. */
const turn = fc.oneof(
  { weight: 12, arbitrary: step },
  { weight: 2, arbitrary: doing("serve", {}) },
  { weight: 1, arbitrary: doing("break", {}) },
)
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never

/** Breaks the connections over which read models are written, in the middle of everything. */
async function breakConnections(): Promise<void> {
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'company-ledger behind'`.execute(
    world.ports.readAll,
  )
}

/** Plays a history on a company's ledger. Calls `look` after each turn. */
async function play(
  { companyId, key }: { readonly companyId: CompanyId; readonly key: string },
  turns: readonly Turn[],
  look: (i: number) => Promise<void>,
): Promise<void> {
  const stream = ledgerOf(companyId)
  const facts: LedgerEvent[] = []
  const perform = async (given: Step) => {
    const now = world.ports.clock.now()
    const then = instantAfter(given, now)
    if (then !== now) await world.ports.setClock?.(then)
    const command = commandOf(given, facts, then)
    if (command === null) return
    const outcome = await world.ports.runner.execute(stream, command, causedBy("test"))
    if (outcome.accepted) facts.push(...outcome.facts)
  }
  for (const [i, one] of turns.entries()) {
    if (one.does === "break") await breakConnections()
    else if (one.does === "serve") await world.call(key, "GET", "/api/v1/credits")
    else await perform(one)
    await look(i)
  }
}

/** The company by its ledger, at the revision that the read models have, and as they show it. */
async function bothOf(companyId: CompanyId) {
  await settled(world)
  const stream = ledgerOf(companyId)
  const stored = await collect(world.ports.store.read(stream.stream))
  const facts = stored.map((one) => PROGRAM.streams.recorded(one).fact as LedgerEvent)
  const { wanted, at, windows } = await world.ports.runner.read(stream, (state, now) => {
    return {
      wanted: standingOf(state, facts, now),
      at: now,
      windows: state.tallies.windows,
    }
  })
  return { wanted, shown: await shownOf(world.ports.readAll, companyId, at, windows) }
}

describe("the read models of the ledger", () => {
  it("show what it has: through the store, over broken connections, with reactions at work", async () => {
    const turns = fc.array(turn, { minLength: 30, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(turns, async (history) => {
        const company = await makeCompany(world, { funds: "10" })
        await play(company, history, async (i) => {
          if (i % 10 !== 9 && i !== history.length - 1) return
          const { wanted, shown } = await bothOf(company.companyId)
          expect(shown).toEqual(wanted)
        })
      }),
      { numRuns: 3, endOnFailure: true },
    )
    expect(await unbalanced(world.ports.readAll, null)).toEqual([])
    const { ok, projections } = await world.operate("projections verify")
    expect(projections.filter((one: { same: boolean }) => !one.same)).toEqual([])
    expect(ok).toBe(true)
  })
})
