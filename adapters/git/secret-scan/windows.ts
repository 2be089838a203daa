/**
 * Texts joined and cut into windows: a call of the rules costs most of a millisecond however little there is
 * to look through, and long texts cost memory. Windows of one text overlap by more than the longest
 * secret, so that each stands whole in one of them.
 */
import type { Place } from "./expressions.ts"
import type { FoundSecret, ScannedText } from "./port.ts"

/** So many characters at a time. */
export const WINDOW = 256 * 1024
/** By so much the windows of one text overlap. */
export const OVERLAP = 16 * 1024

/** A part of a text, where it stands in a window. */
interface Part {
  readonly of: ScannedText
  /** Where it begins in its text. */
  readonly from: number
  /** Where it begins in the window. */
  readonly at: number
}

/** Text to be looked through at once. */
export interface Window {
  readonly text: string
  readonly parts: readonly Part[]
}

/** The windows of some texts. */
export function* windowsOf(texts: Iterable<ScannedText>): Generator<Window> {
  let text = ""
  let parts: Part[] = []
  for (const scanned of texts) {
    for (let from = 0; ; from += WINDOW - OVERLAP) {
      const piece = scanned.text.slice(from, from + WINDOW)
      if (parts.length > 0 && text.length + piece.length > WINDOW) {
        yield { text, parts }
        text = ""
        parts = []
      }
      parts.push({ of: scanned, from, at: text.length })
      text += `${piece}\n`
      if (from + WINDOW >= scanned.text.length) break
    }
  }
  if (parts.length > 0) yield { text, parts }
}

interface Found extends Place {
  readonly of: ScannedText
}

/** What was found in windows, by text: what was found twice, or by two rules, is one and the longest. */
export function foundIn(
  windows: readonly { readonly window: Window; readonly places: readonly Place[] }[],
): readonly FoundSecret[] {
  const found = windows.flatMap(({ window, places }) => places.map((one) => inText(window, one)))
  const byText = Map.groupBy(found, ({ of }) => of)
  return [...byText].flatMap(([of, all]) => {
    const lineOf = lineCounter(of.text)
    return longest(all).map(({ rule, start, end }) => {
      return { id: of.id, rule, line: lineOf(start), secret: of.text.slice(start, end) }
    })
  })
}

function inText({ parts }: Window, { rule, start, end }: Place): Found {
  const part = parts.findLast(({ at }) => at <= start)
  if (part === undefined) throw new RangeError(`no part of the window begins before ${start}`)
  const moved = part.from - part.at
  return { of: part.of, rule, start: start + moved, end: end + moved }
}

/** Of places that lie over one another the longest, in order. */
function longest(places: readonly Found[]): readonly Found[] {
  const sorted = places.toSorted((a, b) => a.start - b.start || b.end - a.end)
  const kept: Found[] = []
  for (const one of sorted) {
    const last = kept.at(-1)
    if (last === undefined || one.start >= last.end) kept.push(one)
    else if (one.end - one.start > last.end - last.start) kept[kept.length - 1] = one
  }
  return kept
}

/** Lines by places that only go forward. */
function lineCounter(text: string): (place: number) => number {
  let [line, from] = [1, 0]
  return (place) => {
    for (;;) {
      const next = text.indexOf("\n", from)
      if (next === -1 || next >= place) return line
      line += 1
      from = next + 1
    }
  }
}
