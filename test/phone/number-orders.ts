/** Numbers as tests look for, buy and release them. */
import { selectChargeRows } from "../../projections/charging/charges.ts"
import type { Company, World } from "../support/world.ts"

/** What a local number costs a month, in micros. */
export const LOCAL_NUMBER_MICROS = 1_500_000

/** Looks for numbers. */
export const requestNumberSearch = (world: World, { key }: Company, query = "") =>
  world.call(key, "GET", `/api/v1/phone/search${query}`)

let given = 0

/** A number of the built-in carrier that no test was given before. */
export function newCarrierNumber(): string {
  const areas = ["415", "212", "312", "512", "206", "305", "617", "404", "303", "602"]
  const area = areas[given % areas.length] ?? "415"
  const line = 100 + (Math.floor(given / areas.length) % 100)
  given += 1
  return `+1${area}5550${line}`
}

/** Buys a number; by default one that nobody has. */
export const requestNumber = (
  world: Pick<World, "call">,
  { key }: Pick<Company, "key">,
  number = newCarrierNumber(),
  headers: Record<string, string> = {},
) => world.call(key, "POST", "/api/v1/phone/buy", { body: { number }, headers })

/** Buys a number and answers its id. */
export async function buyNumberForId(world: World, company: Company, number = newCarrierNumber()) {
  const answer = await requestNumber(world, company, number)
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body.number as { readonly id: string; readonly number: string }
}

/** Releases a number. */
export const requestNumberRelease = (world: World, { key }: Pick<Company, "key">, id: string) =>
  world.call(key, "POST", "/api/v1/phone/release", { body: { id } })

/** The numbers of a company by `phone/state`. */
export async function numbersOf(world: World, { key }: Pick<Company, "key">) {
  const { body } = await world.call(key, "GET", "/api/v1/phone/state")
  return body.numbers as readonly Record<string, unknown>[]
}

/** The rents of a company in the order they were charged: micros, state, and what each is called. */
export async function rentsOf(world: World, { companyId }: Pick<Company, "companyId">) {
  await world.operate("wait")
  const rows = await selectChargeRows(world.ports.readAll)
    .where("company_id", "=", companyId)
    .where("kind", "=", "rent")
    .orderBy("revision")
    .execute()
  return rows.map((row) => ({
    micros: -Number(row.amount_micros),
    state: row.state,
    at: row.at.toISOString(),
    name: row.charge_id?.slice(row.charge_id.indexOf(":") + 1),
  }))
}

/** The same, without what each is called and when it was. */
export const numberChargesOf = async (world: World, company: Pick<Company, "companyId">) =>
  (await rentsOf(world, company)).map(({ micros, state }) => ({ micros, state }))
