/**
 * Maps locations in the bundle to its sources. Node's own reader creates an object for each of half a million
 * locations at the first stack, which takes a third of a second and 100 MB.
 */

/** The parts of a source map that are read. */
export interface SourceMapText {
  readonly sources: readonly string[]
  readonly mappings: string
}

/** A location in a source; lines and columns count from 1. */
export interface SourceLocation {
  readonly source: string
  readonly line: number
  readonly column: number
}

/** Finds the source of a line and column of the bundle, which count from 1; null if it has none. */
export type FindSourceLocation = (line: number, column: number) => SourceLocation | null

const DIGITS = new Map(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    .split("")
    .map((letter, digit) => [letter.charCodeAt(0), digit] as const),
)
const VALUES = Uint8Array.from({ length: 128 }, (_, code) => DIGITS.get(code) ?? 0)
const [COMMA, SEMICOLON] = [44, 59]

/** Number of values stored for each line of the bundle. */
const NUMBERS_PER_LINE = 4

/** Opens a map; the mappings of a line are decoded when it is looked up. */
export function openLineMap({ sources, mappings }: SourceMapText): FindSourceLocation {
  const values: number[] = []
  const reader = new MappingReader(mappings)
  // Lines before the first mapping have no source.
  let unmapped = 0
  while (reader.at < mappings.length) {
    values.push(reader.at, reader.source, reader.line, reader.column)
    let segments = 0
    while (reader.next()) segments += 1
    if (segments === 0 && unmapped === values.length / NUMBERS_PER_LINE - 1) unmapped += 1
    reader.endLine()
  }
  const lines = Int32Array.from(values)
  return (line, column) => {
    const [at, ...before] = lines.subarray((line - 1) * NUMBERS_PER_LINE, line * NUMBERS_PER_LINE)
    if (at === undefined) return null
    const within = new MappingReader(mappings, at, ...before)
    const originOf = ({
      source,
      line: row,
      column: letter,
    }: MappingReader): SourceLocation | null => {
      const name = sources[source]
      return name === undefined ? null : { source: name, line: row + 1, column: letter + 1 }
    }
    // Columns before a line's first mapping continue the last mapping of the line before.
    let origin = line - 1 > unmapped ? originOf(within) : null
    while (within.next() && within.generatedColumn < column) origin = originOf(within)
    return origin
  }
}

/** Reads the mappings of a line in sequence; each is encoded as the difference to the one before. */
class MappingReader {
  readonly #text: string
  at: number
  generatedColumn = 0
  source: number
  line: number
  column: number

  constructor(text: string, at = 0, source = 0, line = 0, column = 0) {
    this.#text = text
    this.at = at
    this.source = source
    this.line = line
    this.column = column
  }

  /** Advances to the next mapping of this line; false if there is none. */
  next(): boolean {
    if (this.#isLineEnd()) return false
    this.generatedColumn += this.#number()
    if (!this.#isSegmentEnd()) {
      this.source += this.#number()
      this.line += this.#number()
      this.column += this.#number()
    }
    // Skips the index of the original name.
    if (!this.#isSegmentEnd()) this.#number()
    if (this.#text.charCodeAt(this.at) === COMMA) this.at += 1
    return true
  }

  endLine(): void {
    this.at += 1
    this.generatedColumn = 0
  }

  #isLineEnd(): boolean {
    return this.at >= this.#text.length || this.#text.charCodeAt(this.at) === SEMICOLON
  }

  #isSegmentEnd(): boolean {
    return this.#isLineEnd() || this.#text.charCodeAt(this.at) === COMMA
  }

  /** Decodes a Base64 VLQ: five bits per letter, lowest first; the sixth bit continues, the lowest bit is the sign. */
  #number(): number {
    let [value, shift, digit] = [0, 0, 0]
    do {
      digit = VALUES[this.#text.charCodeAt(this.at)] ?? 0
      this.at += 1
      value += (digit & 31) << shift
      shift += 5
    } while (digit > 31)
    return value & 1 ? -(value >> 1) : value >> 1
  }
}
