/**
 * Lists that show the newest of what came after `since`, oldest first, and walk from there back to `since`
 * by `nextCursor`, so that nothing is lost.
 */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { sinceTimeSchema } from "../kernel/schema.ts"
import type { Refusal } from "./answers/refusal.ts"
import { createHash } from "node:crypto"
import { invalidRefusal } from "./checks/7-values.ts"

/** What is said of a cursor that is none. */
export const INVALID_CURSOR = "Must be a nextCursor of this list."
const CHECK_DIGITS = 10

/** The query parameter `cursor`: a place that the list gave. */
export const cursorSchema = z
  .string({ error: INVALID_CURSOR })
  .meta({ description: "The nextCursor of this list's last answer, as it is" })

/** The name of a place in a company's list: a time. */
export function cursorForTime(list: string, companyId: CompanyId, time: Date): string {
  return cursorForNumber(list, companyId, time.getTime())
}

/** The same where the place is a whole number. */
export function cursorForNumber(list: string, companyId: CompanyId, place: number): string {
  const text = place.toString(36)
  const check = createHash("sha256").update(`${list}\n${companyId}\n${text}`).digest("hex")
  return `${text}-${check.slice(0, CHECK_DIGITS)}`
}

/** The time that a cursor names; a refusal where it is none of this company's list. */
function parseTimeCursor(
  list: string,
  companyId: CompanyId,
  cursor: string,
): { readonly before: Date } | { readonly refusal: Refusal } {
  const found = parseNumberCursor(list, companyId, cursor)
  return "refusal" in found ? found : { before: new Date(found.place) }
}

/** The number that a cursor names; a refusal where it is none of this company's list. */
export function parseNumberCursor(
  list: string,
  companyId: CompanyId,
  cursor: string,
): { readonly place: number } | { readonly refusal: Refusal } {
  // Nine digits reach into the year 5188.
  const digits = /^([0-9a-z]{1,9})-/.exec(cursor)?.[1]
  const place = Number.parseInt(digits ?? "0", 36)
  if (cursor === cursorForNumber(list, companyId, place)) return { place }
  return { refusal: invalidRefusal({ cursor: INVALID_CURSOR }) }
}

/** What such a list is asked. */
export const NewestListQuery = z.object({
  since: sinceTimeSchema.optional(),
  cursor: cursorSchema.optional(),
})

/** Where the list goes on. */
export const nextCursorSchema = z
  .string()
  .optional()
  .meta({ description: "The `cursor` of those before these; absent where there are none" })

/** Which rows are asked for: the newest of those between two instants, both left out. */
interface NewestRowsRequest {
  readonly companyId: CompanyId
  readonly since: Date | null
  readonly before: Date | null
  readonly limit: number
}

/** Such a list: what its cursors are made for, whose it is, and how much it shows. */
interface NewestList {
  readonly list: string
  readonly companyId: CompanyId
  readonly max: number
}

/** The rows that are shown, oldest first, and where the list goes on; or why the cursor is none of it. */
export async function listNewest<R extends { readonly created_at: Date }>(
  { list, companyId, max }: NewestList,
  { since, cursor }: z.infer<typeof NewestListQuery>,
  read: (asked: NewestRowsRequest) => Promise<readonly R[]>,
): Promise<
  | { readonly shown: readonly R[]; readonly more: { readonly nextCursor?: string } }
  | { readonly refusal: Refusal }
> {
  const place = cursor === undefined ? null : parseTimeCursor(list, companyId, cursor)
  if (place !== null && "refusal" in place) return place
  // One more than is shown says whether there are more.
  const rows = await read({
    companyId,
    since: since ?? null,
    before: place?.before ?? null,
    limit: max + 1,
  })
  const shown = rows.slice(-max)
  const oldest = rows.length > shown.length ? shown[0] : undefined
  const more =
    oldest === undefined ? {} : { nextCursor: cursorForTime(list, companyId, oldest.created_at) }
  return { shown, more }
}
