/** Work that an operator calls before it is due: rejected, unless it is known to be safe. */
import { sql } from "kysely"
import { describe, expect, it } from "vitest"
import type { FoundWork } from "../../adapters/work/port.ts"
import { PROGRAM } from "../../src/slices.ts"
import { makeCompany, ownWorld } from "../support/world.ts"

/** The kinds that an operator may call early, and why that is safe. */
const SAFE: Readonly<Record<string, string>> = {
  "check-domain": "it looks the records up",
  "check-sender": "it looks the records up",
  "follow-part": "it asks the registry how a review stands",
  "register-numbers": "it registers what is not registered, and asks how that stands",
  "send-text": "it asks the carrier first",
  "ask-text": "it asks the carrier",
  "buy-number": "it asks the carrier first",
  "ask-number": "it asks the carrier",
  "make-box": "it asks the host first",
  "submit-part": "it asks the registry first",
  "ask-part": "it asks the registry",
  "pay-purchase": "it asks the processor",
  "check-card": "it asks the processor first",
  "ask-hold": "it asks the processor",
}
/** The kind that may be called early from the instant that its row carries. */
const RENT = "rent"

const world = await ownWorld("store")
const company = await makeCompany(world)

/** A row that is due in a day. */
async function waiting(kind: string, name = "early"): Promise<number> {
  const { rows } = await sql<{ workId: number }>`
    insert into ledger.work (kind, name, subject, company_id, payload, due_at)
    values (${kind}, ${name}, ${name}, ${company.companyId}, '{}',
      ${new Date(world.ports.clock.now() + 86_400_000)})
    returning work_id as "workId"`.execute(world.ports.readAll)
  return rows[0]?.workId ?? 0
}

describe("work that is not due", () => {
  it("may be called early only where that is known to be safe", () => {
    const early = PROGRAM.reactions.filter(({ mayRunFrom }) => mayRunFrom !== undefined)
    const kinds = early.map(({ kind }) => kind)
    expect(kinds.sort()).toEqual([...Object.keys(SAFE), RENT].sort())
    const free = early.filter(({ kind }) => kind !== RENT)
    expect(free.map(({ mayRunFrom }) => mayRunFrom?.({}))).toEqual(free.map(() => 0))
  })

  const others = PROGRAM.reactions.filter(({ kind }) => SAFE[kind] === undefined)
  it.each(others.map(({ kind }) => kind))("%s is neither tried nor given up", async (kind) => {
    const workId = await waiting(kind)
    const before = (await world.ports.work.find(workId)) as FoundWork
    for (const operation of ["work retry", "work skip"]) {
      await expect(world.operate(operation, { workId })).rejects.toMatchObject({
        code: "conflict",
        message: `Work ${workId} (${kind}) is due at ${before.dueAt} and goes on by itself then.`,
        details: { dueAt: before.dueAt },
      })
    }
    expect(await world.ports.work.find(workId)).toEqual(before)
  })

  it("is not made due where it put itself off a moment before", async () => {
    const workId = await waiting("close-month", "put off")
    expect(await world.ports.work.retry(workId, world.ports.clock.now(), false)).toBe(false)
    expect(await world.ports.work.retry(workId, world.ports.clock.now(), true)).toBe(true)
  })
})
