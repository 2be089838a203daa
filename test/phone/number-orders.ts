/** Requests that search, buy and release numbers. */
import { selectChargeRows } from "../../projections/charging/charges.ts"
import type { Company, World } from "../support/world.ts"

/** Monthly price of a local number, in micro-dollars. */
export const LOCAL_NUMBER_MICROS = 1_500_000

/** Searches for numbers. */
export const requestNumberSearch = (world: World, { key }: Company, query = "") =>
  world.call(key, "GET", `/api/v1/phone/search${query}`)

let count = 0

/** A number of the simulated carrier that no other test uses. */
export function newCarrierNumber(): string {
  const areas = ["415", "212", "312", "512", "206", "305", "617", "404", "303", "602"]
  const area = areas[count % areas.length] ?? "415"
  const line = 100 + (Math.floor(count / areas.length) % 100)
  count += 1
  return `+1${area}5550${line}`
}

/** Buys a number, by default a new one. */
export const requestNumber = (
  world: Pick<World, "call">,
  { key }: Pick<Company, "key">,
  number = newCarrierNumber(),
  headers: Record<string, string> = {},
) => world.call(key, "POST", "/api/v1/phone/buy", { body: { number }, headers })

/** Buys a number and returns it with its ID. */
export async function buyNumberForId(world: World, company: Company, number = newCarrierNumber()) {
  const answer = await requestNumber(world, company, number)
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body.number as { readonly id: string; readonly number: string }
}

/** Releases a number. */
export const requestNumberRelease = (world: World, { key }: Pick<Company, "key">, id: string) =>
  world.call(key, "POST", "/api/v1/phone/release", { body: { id } })

/** A company's numbers in `phone/state`. */
export async function numbersOf(world: World, { key }: Pick<Company, "key">) {
  const { body } = await world.call(key, "GET", "/api/v1/phone/state")
  return body.numbers as readonly Record<string, unknown>[]
}

/** A company's rent charges in order: amount in micro-dollars, state, time and name. */
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

/** A company's rent charges in order, without times and names. */
export const numberChargesOf = async (world: World, company: Pick<Company, "companyId">) =>
  (await rentsOf(world, company)).map(({ micros, state }) => ({ micros, state }))
