/** Texts as tests send them. */
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { selectChargeRows } from "../../projections/charging/charges.ts"

/** The route of texts. */
export const MESSAGES_PATH = "/api/v1/phone/messages"

/** What one GSM segment to +1 costs, in micros. */
export const GSM_SEGMENT_MICROS = 9_000

/** What the first text to a recipient ends in. */
export const OPT_OUT_SUFFIX = "\nReply STOP to opt out."

let given = 0

/** A number that no test was given before, of an area in which no carrier of the tests has one. */
export function newPhoneNumber(): string {
  given += 1
  return `+1510${String(5_550_000 + given)}`
}

/** Sends a text; by default `Hello` to somebody new. */
export function postText(
  world: World,
  key: string,
  text: object = {},
  headers: Record<string, string> = {},
): Promise<ApiAnswer> {
  return world.call(key, "POST", MESSAGES_PATH, {
    body: { to: newPhoneNumber(), body: "Hello", ...text },
    headers,
  })
}

/** The charges of a company in the order they were decided: micros and state. */
export async function chargeAmountsOf(
  world: World,
  { companyId }: Pick<Company, "companyId">,
): Promise<readonly { readonly micros: number; readonly state: string | null }[]> {
  await world.operate("wait")
  const rows = await selectChargeRows(world.ports.readAll)
    .where("company_id", "=", companyId)
    .where("kind", "=", "charge")
    .orderBy("revision")
    .execute()
  return rows.map((row) => ({ micros: -Number(row.amount_micros), state: row.state }))
}
