/**
 * Lists that show the newest of what came after `since`, oldest first, and walk from there back to `since`
 * by `nextCursor`, so that nothing is lost.
 */
import { z } from "zod"
import type { CompanyId } from "../../../../domain/kernel/ids.ts"
import { sinceTime } from "../../kernel/schema.ts"
import { cursorAt, cursorText, placeOfCursor } from "./cursor.ts"
import type { Refusal } from "../answers/refusal.ts"

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
export interface NewestAsked {
  readonly companyId: CompanyId
  readonly since: Date | null
  readonly before: Date | null
  readonly limit: number
}

/** Such a list: what its cursors are made for, whose it is, and how much it shows. */
export interface NewestList {
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
