/**
 * Places in a list, as `nextCursor` gives them and `cursor` takes them: a time or a revision, and a
 * check of it. A damaged one must not pass for another place, for an empty page says that it was the last.
 */
import { createHash } from "node:crypto"
import { z } from "zod"
import type { CompanyId } from "../../../../domain/kernel/ids.ts"
import type { Refusal } from "../answers/refusal.ts"
import { invalid } from "../checks/7-values.ts"

/** What is said of a cursor that is none. */
export const NO_CURSOR = "Must be a nextCursor of this list."
const CHECK_DIGITS = 10

/** The query parameter `cursor`: a place that the list gave. */
export const cursorText = z
  .string({ error: NO_CURSOR })
  .meta({ description: "The nextCursor of this list's last answer, as it is" })

/** The name of a place in a company's list: a time. */
export function cursorAt(list: string, companyId: CompanyId, time: Date): string {
  return cursorOf(list, companyId, time.getTime())
}

/** The same where the place is a whole number. */
export function cursorOf(list: string, companyId: CompanyId, place: number): string {
  const text = place.toString(36)
  const check = createHash("sha256").update(`${list}\n${companyId}\n${text}`).digest("hex")
  return `${text}-${check.slice(0, CHECK_DIGITS)}`
}

/** The time that a cursor names; a refusal where it is none of this company's list. */
export function placeOfCursor(
  list: string,
  companyId: CompanyId,
  cursor: string,
): { readonly before: Date } | { readonly refusal: Refusal } {
  const found = numberOfCursor(list, companyId, cursor)
  return "refusal" in found ? found : { before: new Date(found.place) }
}

/** The number that a cursor names; a refusal where it is none of this company's list. */
export function numberOfCursor(
  list: string,
  companyId: CompanyId,
  cursor: string,
): { readonly place: number } | { readonly refusal: Refusal } {
  // Nine digits reach into the year 5188.
  const digits = /^([0-9a-z]{1,9})-/.exec(cursor)?.[1]
  const place = Number.parseInt(digits ?? "0", 36)
  if (cursor === cursorOf(list, companyId, place)) return { place }
  return { refusal: invalid({ cursor: NO_CURSOR }) }
}
