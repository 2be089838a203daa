/**
 * Lists that show the newest of what came after `since`, oldest first, and walk from there back to `since`
 * by `nextCursor`, so that nothing is lost.
 */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { sinceTime } from "../kernel/schema.ts"
import type { Refusal } from "./answers/refusal.ts"
import { createHash } from "node:crypto"
import { invalid } from "./checks/7-values.ts"

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
function placeOfCursor(
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

/** What such a list is asked. */
export const NewestQuery = z.object({
  since: sinceTime.optional(),
  cursor: cursorText.optional(),
})

/** Where the list goes on. */
export const nextCursor = z
  .string()
  .optional()
  .meta({ description: "The `cursor` of those before these; absent where there are none" })

/** Which rows are asked for: the newest of those between two instants, both left out. */
interface NewestAsked {
  readonly companyId: CompanyId
  readonly since: Date | null
  readonly before: Date | null
  readonly limit: number
}

/** Such a list: what its cursors are made for, whose it is, and how much it shows. */
interface NewestList {
  readonly list: string
  readonly companyId: CompanyId
  readonly most: number
}

/** The rows that are shown, oldest first, and where the list goes on; or why the cursor is none of it. */
export async function newestOf<R extends { readonly created_at: Date }>(
  { list, companyId, most }: NewestList,
  { since, cursor }: z.infer<typeof NewestQuery>,
  read: (asked: NewestAsked) => Promise<readonly R[]>,
): Promise<
  | { readonly shown: readonly R[]; readonly more: { readonly nextCursor?: string } }
  | { readonly refusal: Refusal }
> {
  const place = cursor === undefined ? null : placeOfCursor(list, companyId, cursor)
  if (place !== null && "refusal" in place) return place
  // One more than is shown says whether there are more.
  const rows = await read({
    companyId,
    since: since ?? null,
    before: place?.before ?? null,
    limit: most + 1,
  })
  const shown = rows.slice(-most)
  const oldest = rows.length > shown.length ? shown[0] : undefined
  const more =
    oldest === undefined ? {} : { nextCursor: cursorAt(list, companyId, oldest.created_at) }
  return { shown, more }
}
