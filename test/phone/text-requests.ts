/** Requests that send texts. */
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { selectChargeRows } from "../../projections/charging/charges.ts"

export const MESSAGES_PATH = "/api/v1/phone/messages"

/** Price of one GSM segment to +1, in micro-dollars. */
export const GSM_SEGMENT_MICROS = 9_000

/** End of the first text to a recipient. */
export const OPT_OUT_SUFFIX = "\nReply STOP to opt out."

let count = 0

/** A phone number that no other test uses, in an area code without numbers of the simulated carrier. */
export function newPhoneNumber(): string {
  count += 1
  return `+1510${String(5_550_000 + count)}`
}

/** Sends a text, by default `Hello` to a new recipient. */
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

/** A company's charges in order: amount in micro-dollars, and state. */
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
