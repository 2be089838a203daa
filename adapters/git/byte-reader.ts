/** What git writes, read by lines and by lengths. */

const NEWLINE = 0x0a

/** Reads from pieces as they come. */
export interface ByteReader {
  /** The next line without its end; null where there is none. @throws Error where it is too long */
  readonly line: () => Promise<string | null>
  /** The next so many bytes. @throws Error where fewer come */
  readonly bytes: (count: number) => Promise<Buffer>
  /** The next bytes as they have come, at least one and at most so many. @throws Error where none come */
  readonly some: (most: number) => Promise<Buffer>
  /** All that comes still; nothing is read by the others from then on. */
  readonly rest: () => AsyncIterable<Uint8Array>
}

/** A name may have 4,096 bytes, and stands in a line with little beside it. */
const MOST_LINE = 64 * 1024

/** Reads from a stream. */
export function byteReader(stream: AsyncIterable<Uint8Array>): ByteReader {
  const pieces = stream[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  /** Reads on; null at the end. */
  const more = async (): Promise<Buffer | null> => {
    const next = await pieces.next()
    return next.done === true ? null : Buffer.from(next.value)
  }
  const some = async (most: number): Promise<Buffer> => {
    if (rest.length === 0) {
      const piece = await more()
      if (piece === null) throw new Error(`git wrote ${most} bytes too few`)
      rest = piece
    }
    const part = rest.subarray(0, most)
    rest = rest.subarray(part.length)
    return part
  }
  return {
    some,
    rest: async function* () {
      yield rest
      for (let piece = await more(); piece !== null; piece = await more()) yield piece
    },
    line: async () => {
      for (;;) {
        const end = rest.indexOf(NEWLINE)
        if (end >= 0) {
          const line = rest.toString("utf8", 0, end)
          rest = rest.subarray(end + 1)
          return line
        }
        if (rest.length > MOST_LINE) throw new Error("git wrote a line that is too long")
        const piece = await more()
        if (piece !== null) rest = Buffer.concat([rest, piece])
        else if (rest.length === 0) return null
        else throw new Error("git wrote a line without an end")
      }
    },
    bytes: async (count) => {
      const taken: Buffer[] = []
      for (let missing = count; missing > 0;) {
        const part = await some(missing)
        taken.push(part)
        missing -= part.length
      }
      return taken.length === 1 ? (taken[0] as Buffer) : Buffer.concat(taken, count)
    },
  }
}
