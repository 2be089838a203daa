/**
 * How many segments a text has: the unit that carriers, and so we, charge for.
 *
 * GSM 03.38 text holds 160 septets in one segment and 153 in each of several; any other character
 * makes the whole text UCS-2: 70 and 67 UTF-16 units (decisions.md §3). A character of the GSM
 * extension table takes two septets, and no character is split over two segments.
 */

const GSM_BASIC = new Set(
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà",
)
const GSM_EXTENDED = new Set("\f^{}\\[~]|€")

/** How a text is encoded: as GSM 03.38 where every character of it is there. */
export function smsEncodingOf(body: string): "gsm7" | "ucs2" {
  const isGsm = [...body].every((c) => GSM_BASIC.has(c) || GSM_EXTENDED.has(c))
  return isGsm ? "gsm7" : "ucs2"
}

/** The number of segments of a text, at least 1. */
export function countSegments(body: string): number {
  const characters = [...body]
  return smsEncodingOf(body) === "gsm7"
    ? pack(characters, (c) => (GSM_EXTENDED.has(c) ? 2 : 1), 160, 153)
    : pack(characters, (c) => c.length, 70, 67)
}

function pack(
  characters: readonly string[],
  width: (character: string) => number,
  alone: number,
  joined: number,
): number {
  const total = characters.reduce((sum, character) => sum + width(character), 0)
  if (total <= alone) return 1
  let segments = 1
  let room = joined
  for (const character of characters) {
    const needed = width(character)
    if (needed > room) {
      segments += 1
      room = joined
    }
    room -= needed
  }
  return segments
}
