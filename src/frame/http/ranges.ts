/** Which part of stored bytes a request asks for (RFC 9110, 14): a word for whoever answers with such. */
import type { IncomingHttpHeaders } from "node:http"
import { parse } from "range-parser"

/** How the library marks what is no range. */
const IS_NO_RANGE = 1

/** From a byte until before another. */
export interface Part {
  readonly from: number
  readonly until: number
}

/**
 * The part that is asked for; null for the whole: where none is asked for, or several, or what is no range,
 * or one of bytes that are others by now. `none` where there are no such bytes.
 *
 * @param tag the bytes' `ETag`, with its quotes; null where they have none
 */
export function partOf(
  { range, "if-range": known }: IncomingHttpHeaders,
  size: number,
  tag: string | null,
): Part | "none" | null {
  if (range === undefined || (known !== undefined && known !== tag)) return null
  const { type, code, ranges } = parse(size, range)
  const [only, ...others] = ranges
  if (type !== "bytes" || (code & IS_NO_RANGE) !== 0 || others.length > 0) return null
  if (only !== undefined) {
    // Of several that were asked for, one is there.
    return code === 0 ? { from: only.start, until: only.end + 1 } : null
  }
  return code === 0 ? null : "none"
}
