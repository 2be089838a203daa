/**
 * Names on a statement, broken over lines. What is too long even for these is shortened in its middle:
 * names that begin alike differ at their ends, and an id stands there.
 */

/** How wide a text is, in points. */
export type WidthOf = (text: string) => number

const LEFT_OUT = "…"

/** A text in at most so many lines, none wider than `width` points. */
export function linesIn(
  text: string,
  widthOf: WidthOf,
  width: number,
  most: number,
): readonly string[] {
  const lines = broken(text, widthOf, width)
  if (lines.length <= most) return lines
  const characters = [...text]
  const shortened = (kept: number) => {
    const [head, tail] = [characters.slice(0, kept), characters.slice(characters.length - kept)]
    return broken(`${head.join("")}${LEFT_OUT}${tail.join("")}`, widthOf, width)
  }
  let [fits, tooMany] = [0, Math.ceil(characters.length / 2)]
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2)
    if (shortened(middle).length <= most) fits = middle
    else tooMany = middle
  }
  return shortened(fits)
}

/** A text in as many lines as it needs: broken between words, and within one that is wider than a line. */
function broken(text: string, widthOf: WidthOf, width: number): readonly string[] {
  const lines: string[] = []
  let line: string | null = null
  for (const word of text.split(" ")) {
    const longer: string = line === null ? word : `${line} ${word}`
    if (widthOf(longer) <= width) {
      line = longer
      continue
    }
    if (line !== null) lines.push(line)
    const parts = partsOf(word, widthOf, width)
    lines.push(...parts.slice(0, -1))
    line = parts.at(-1) ?? ""
  }
  return line === null ? lines : [...lines, line]
}

/** A word in parts of which each fits; one character is a part, however wide it is. */
function partsOf(word: string, widthOf: WidthOf, width: number): readonly string[] {
  const parts: string[] = []
  let part = ""
  for (const character of word) {
    if (part !== "" && widthOf(part + character) > width) {
      parts.push(part)
      part = ""
    }
    part += character
  }
  return [...parts, part]
}
