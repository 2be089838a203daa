/**
 * Segments of texts, the unit that carriers charge for.
 *
 * GSM 03.38 text has 160 septets in a single segment and 153 in each of several; any other character makes the
 * whole text UCS-2, with 70 and 67 UTF-16 units (docs/decisions/phone.md). A character of the GSM extension table
 * takes two
 * septets, and no character is split between segments.
 */

const GSM_BASIC = new Set(
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà",
)
const GSM_EXTENDED = new Set("\f^{}\\[~]|€")

/** Returns the encoding of a text: GSM 03.38 if it has all characters. */
export function smsEncodingOf(body: string): "gsm7" | "ucs2" {
  const isGsm = [...body].every((c) => GSM_BASIC.has(c) || GSM_EXTENDED.has(c))
  return isGsm ? "gsm7" : "ucs2"
}

/** Returns the number of segments of a text, at least 1. */
export function countSegments(body: string): number {
  const characters = [...body]
  return smsEncodingOf(body) === "gsm7"
    ? pack(characters, (c) => (GSM_EXTENDED.has(c) ? 2 : 1), 160, 153)
    : pack(characters, (c) => c.length, 70, 67)
}

function pack(
  characters: readonly string[],
  width: (character: string) => number,
  singleCapacity: number,
  multipartCapacity: number,
): number {
  const total = characters.reduce((sum, character) => sum + width(character), 0)
  if (total <= singleCapacity) return 1
  let segments = 1
  let remaining = multipartCapacity
  for (const character of characters) {
    const needed = width(character)
    if (needed > remaining) {
      segments += 1
      remaining = multipartCapacity
    }
    remaining -= needed
  }
  return segments
}
