/** Helpers to buy funds in tests and to check the result. */
import { sql } from "kysely"
import { expect } from "vitest"
import { newIdempotencyKey } from "../api/interrupted-requests.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { makeCompany } from "../support/world.ts"

/** The path of the route that buys funds. */
export const CREDITS_PATH = "/api/v1/credits"

/** The purchase limits of a key, in dollars. */
export interface BuyerTerms {
  readonly perPurchase: string
  readonly perMonth: string
}

/** A company whose key may buy funds. */
export function makeBuyer(
  world: World,
  funds = "0",
  { perPurchase, perMonth }: BuyerTerms = { perPurchase: "60", perMonth: "100" },
): Promise<Company> {
  const key = { addFundsPerPurchase: perPurchase, addFundsPerMonth: perMonth }
  return makeCompany(world, { funds, key })
}

/** Buys funds; `idempotencyKey` null sends none. */
export function buyFunds(
  world: World,
  key: string,
  amount: unknown,
  idempotencyKey: string | null = newIdempotencyKey(),
  more: object = {},
): Promise<ApiAnswer> {
  const headers = idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey }
  return world.call(key, "POST", CREDITS_PATH, { body: { amount, ...more }, headers })
}

/** The credits of a key, after the read models are up to date. */
export async function getCredits(world: World, key: string): Promise<ApiAnswer["body"]> {
  await world.operate("wait")
  return (await world.call(key, "GET", CREDITS_PATH)).body
}

/** The number of payments that the simulated processor took from a company. */
export async function paymentCountOf(world: World, { companyId }: Company): Promise<number> {
  const { rows } = await sql`
    select 1 from ledger.simulated_records
    where company_id = ${companyId} and kind = 'payment' and content ->> 'status' = 'paid'`.execute(
    world.ports.readAll,
  )
  return rows.length
}

/** Expects the audit of a company to pass; without a company, the audit of all companies. */
export async function expectSoundAudit(world: World, company?: Company): Promise<void> {
  await world.operate("wait")
  const audit = await world.operate("audit verify", { company: company?.companyId })
  expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
}
