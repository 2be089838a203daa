/**
 * Lists of the newest rows after `since`, oldest first. `nextCursor` walks back to `since`, so that no row is
 * missed.
 */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { sinceTimeSchema } from "../kernel/schema.ts"
import type { Refusal } from "./answers/refusal.ts"
import { createHash } from "node:crypto"
import { invalidRefusal } from "./checks/7-values.ts"

export const INVALID_CURSOR = "Must be a nextCursor of this list."
const CHECK_DIGITS = 10

/** The query parameter `cursor`: a position that the list returned. */
export const cursorSchema = z
  .string({ error: INVALID_CURSOR })
  .meta({ description: "The nextCursor of this list's last answer, unchanged" })

/** Creates the cursor for a time in a company's list. */
export function cursorForTime(list: string, companyId: CompanyId, time: Date): string {
  return cursorForNumber(list, companyId, time.getTime())
}

/** Creates the cursor for a whole number. */
export function cursorForNumber(list: string, companyId: CompanyId, place: number): string {
  const text = place.toString(36)
  const check = createHash("sha256").update(`${list}\n${companyId}\n${text}`).digest("hex")
  return `${text}-${check.slice(0, CHECK_DIGITS)}`
}

/** Parses the time of a cursor; a refusal if it is not one of this company's list. */
function parseTimeCursor(
  list: string,
  companyId: CompanyId,
  cursor: string,
): { readonly before: Date } | { readonly refusal: Refusal } {
  const found = parseNumberCursor(list, companyId, cursor)
  return "refusal" in found ? found : { before: new Date(found.place) }
}

/** Parses the number of a cursor; a refusal if it is not one of this company's list. */
export function parseNumberCursor(
  list: string,
  companyId: CompanyId,
  cursor: string,
): { readonly place: number } | { readonly refusal: Refusal } {
  // Nine digits reach the year 5188.
  const digits = /^([0-9a-z]{1,9})-/.exec(cursor)?.[1]
  const place = Number.parseInt(digits ?? "0", 36)
  if (cursor === cursorForNumber(list, companyId, place)) return { place }
  return { refusal: invalidRefusal({ cursor: INVALID_CURSOR }) }
}

export const NewestListQuery = z.object({
  since: sinceTimeSchema.optional(),
  cursor: cursorSchema.optional(),
})

export const nextCursorSchema = z
  .string()
  .optional()
  .meta({ description: "The `cursor` for the rows before these; absent if there are none" })

/** A request for the newest rows between two times, both exclusive. */
interface NewestRowsRequest {
  readonly companyId: CompanyId
  readonly since: Date | null
  readonly before: Date | null
  readonly limit: number
}

/** A list: the name in its cursors, its company, and its maximum length. */
interface NewestList {
  readonly list: string
  readonly companyId: CompanyId
  readonly max: number
}

/** Returns the rows, oldest first, and the next cursor; or the refusal of an invalid cursor. */
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
  // One row more than shown tells whether there are more.
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
