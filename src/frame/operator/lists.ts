/** Lists of an operator's commands that are shown some at a time, and go on before the last place. */
import { z } from "zod"
import type { Page } from "./cli/render.ts"
import { renderTable } from "./cli/render.ts"

/** So many are shown at a time, unless asked for fewer. */
const MOST_LISTED = 1_000

/** How many are shown. */
export const listLimit = z
  .int()
  .positive()
  .max(MOST_LISTED)
  .default(MOST_LISTED)
  .meta({ description: "at most so many" })

/** A list as a table, and where it goes on; `next` is null where it does not. */
export function renderList(
  rows: readonly object[],
  next: string | number | null,
  page: Page,
  what: string,
): string {
  const more = next === null ? "" : `There are more: --before ${next}\n`
  return renderTable(rows, page, what) + more
}
