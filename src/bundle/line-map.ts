/**
 * Where a place in a file of the bundle was in its sources. Node's own reader makes an object of each of half a
 * million places at the first stack, which takes a third of a second and 100 MB.
 */

/** What is read of a source map. */
export interface SourceMapText {
  readonly sources: readonly string[]
  readonly mappings: string
}

/** A place in a source; lines and columns count from 1. */
export interface SourceLocation {
  readonly source: string
  readonly line: number
  readonly column: number
}

/** Finds places by lines and columns of the bundle, which count from 1; null where nothing is known of one. */
export type FindSourceLocation = (line: number, column: number) => SourceLocation | null

const DIGITS = new Map(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    .split("")
    .map((letter, digit) => [letter.charCodeAt(0), digit] as const),
)
const VALUES = Uint8Array.from({ length: 128 }, (_, code) => DIGITS.get(code) ?? 0)
const [COMMA, SEMICOLON] = [44, 59]

/** Numbers that are kept of each line of the bundle. */
const NUMBERS_PER_LINE = 4

/** Reads a map; the numbers of a line are decoded when a place in it is looked for. */
export function openLineMap({ sources, mappings }: SourceMapText): FindSourceLocation {
  const kept: number[] = []
  const reader = new MappingReader(mappings)
  // Before the first line with a place nothing is known.
  let unknown = 0
  while (reader.at < mappings.length) {
    kept.push(reader.at, reader.source, reader.line, reader.column)
    let places = 0
    while (reader.next()) places += 1
    if (places === 0 && unknown === kept.length / NUMBERS_PER_LINE - 1) unknown += 1
    reader.endLine()
  }
  const lines = Int32Array.from(kept)
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
    // A line begins with what the one before it ended in.
    let origin = line - 1 > unknown ? originOf(within) : null
    while (within.next() && within.generatedColumn < column) origin = originOf(within)
    return origin
  }
}

/** Reads the places of a line one after the other: each is told by its distance from the one before. */
class MappingReader {
  readonly #text: string
  at: number
  /** Column in the bundle. */
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

  /** Goes on to the next place of this line; false where there is none. */
  next(): boolean {
    if (this.#isOver()) return false
    this.generatedColumn += this.#number()
    if (!this.#isPlaceOver()) {
      this.source += this.#number()
      this.line += this.#number()
      this.column += this.#number()
    }
    // The name that stood there.
    if (!this.#isPlaceOver()) this.#number()
    if (this.#text.charCodeAt(this.at) === COMMA) this.at += 1
    return true
  }

  endLine(): void {
    this.at += 1
    this.generatedColumn = 0
  }

  #isOver(): boolean {
    return this.at >= this.#text.length || this.#text.charCodeAt(this.at) === SEMICOLON
  }

  #isPlaceOver(): boolean {
    return this.#isOver() || this.#text.charCodeAt(this.at) === COMMA
  }

  /** Five bits a letter, the lowest first; a sixth says that more follow, and the lowest of all is the sign. */
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
