/** `work skip`: what an operator gives up, and what stays owed. */
import { sql } from "kysely"
import { beforeEach, expect, it, vi } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import {
  carrierIs,
  fundsOf,
  linesOf,
  messageOf,
  paidForCalls,
  send,
  silentWhenAsked,
  workOf,
} from "./texts.ts"

const FUNDS = 50_000_000

const world = await ownWorld("store")
let company: Company
beforeEach(async () => {
  vi.restoreAllMocks()
  company = await makeCompany(world)
})

/** Parks the company's row of a kind; answers its number. */
async function park(kind: string): Promise<number> {
  const { rows } = await sql<{ work_id: number }>`
    update ledger.work set parked = 'a test', process_id = null, leased_until = null
    where kind = ${kind} and company_id = ${company.companyId} returning work_id`.execute(
    world.ports.readAll,
  )
  return Number(rows[0]?.work_id)
}

/** Adds a parked row beside those that there may be; answers its number. */
async function addParked(kind: string, payload: object): Promise<number> {
  const name = `parked ${company.companyId}`
  const { rows } = await sql<{ work_id: number }>`
    insert into ledger.work (kind, name, subject, company_id, payload, due_at, parked)
    values (${kind}, ${name}, ${name}, ${company.companyId}, ${JSON.stringify(payload)}, now(),
      'a test')
    returning work_id`.execute(world.ports.readAll)
  return Number(rows[0]?.work_id)
}

const skip = (workId: number) => world.operate("work skip", { workId })

it("a text that is given up counts as failed, costs nothing, and nothing stays open", async () => {
  silentWhenAsked(world)
  await carrierIs(world, "silent", 1)
  const id = await send(world, company)
  await world.operate("wait")
  const workId = await park("ask-text")
  expect(await skip(workId)).toEqual({ workId, skipped: true })
  expect(await messageOf(world, id)).toMatchObject({ status: "failed", error_code: "given_up" })
  const { companyId } = company
  expect((await linesOf(world, companyId)).map(({ kind, state }) => [kind, state])).toEqual([
    ["charge", "given_back"],
    ["give_back", null],
  ])
  const spent = FUNDS - (await fundsOf(world, companyId)) - (await paidForCalls(world, companyId))
  expect(spent).toBe(0)
  expect(await workOf(world, companyId)).toEqual([])
  await expect(skip(workId)).rejects.toThrow(`no work ${workId}`)
})

it("a reminder that is given up is not sent", async () => {
  const workId = await addParked("send-reminder", {})
  expect(await skip(workId)).toEqual({ workId, skipped: true })
  expect(await workOf(world, company.companyId)).toEqual([])
})

it("what is not parked goes on by itself", async () => {
  silentWhenAsked(world)
  await carrierIs(world, "silent", 1)
  await send(world, company)
  await world.operate("wait")
  const workId = await park("ask-text")
  await sql`update ledger.work set parked = null where work_id = ${workId}`.execute(
    world.ports.readAll,
  )
  await expect(skip(workId)).rejects.toThrow("goes on by itself")
})

const OPEN_CHARGE = { chargeId: "chg_1", item: "text_segment", resource: null, chargedAt: 0 }

it.each([
  ["end-charge", OPEN_CHARGE, 'end it with "charge give-back chg_1"'],
  ["charge-calls", { day: 0 }, 'mend its cause, then "work retry"'],
  ["open-company", {}, 'mend its cause, then "work retry"'],
  ["wash-car", {}, "no work of the kind wash-car"],
])("%s cannot be given up", async (kind, payload, said) => {
  const workId = await addParked(kind, payload)
  await expect(skip(workId)).rejects.toThrow(said)
  const { work } = await world.operate("work list")
  expect(work).toContainEqual(expect.objectContaining({ workId, parked: "a test" }))
})
