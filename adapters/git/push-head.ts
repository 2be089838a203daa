/**
 * What a push begins with: the refs that it wants to move, line by line up to the first flush. Git holds all
 * of it in memory, and takes more than is served here: a signed push would leave its certificate among the
 * objects before the hook is asked, and have the machine's gpg read it.
 */
import { byteReader } from "./byte-reader.ts"
import { FLUSH, pktLine } from "./port.ts"

/** The 5,000 refs of a backup have less, whatever their names. */
const MOST_BYTES = 2 * 1024 * 1024
/** Nobody's file system takes a name as long. */
const MOST_LINE = 8 * 1024

const LINE = /^(?:[0-9a-f]{40} [0-9a-f]{40} |shallow [0-9a-f]{40})/
const SIDE_BAND = /[\0 ]side-band-64k(?: |\n|$)/

const SIGNED = "signed pushes are not taken here: push without --signed"
const TOO_MUCH = "too many refs in one push, or too long a name: push them in parts"
const NO_PUSH = "this is no push of git"

/**
 * Hands on what a push sends. Of one that begins badly no more is handed on, so that git gives it up
 * before anything is taken; the rest is taken off all the same, for its sender listens at the end only.
 *
 * @param onBad told of such a one, with what to answer in git's protocol
 */
export async function* withHeadChecked(
  input: AsyncIterable<Uint8Array>,
  onBad: (answer: Buffer) => void,
): AsyncGenerator<Uint8Array> {
  const reader = byteReader(input)
  let hasSideBand = false
  for (let taken = 0; ;) {
    const start = await reader.bytes(4)
    if (start.equals(FLUSH)) {
      yield start
      break
    }
    const length = lengthIn(start)
    taken += length
    const isTooMuch = length > MOST_LINE || taken > MOST_BYTES
    const line = length > 4 && !isTooMuch ? await reader.bytes(length - 4) : null
    const text = line?.toString("latin1") ?? ""
    hasSideBand ||= SIDE_BAND.test(text)
    if (line === null || !LINE.test(text)) {
      onBad(
        saying(isTooMuch ? TOO_MUCH : text.startsWith("push-cert") ? SIGNED : NO_PUSH, hasSideBand),
      )
      // Nothing of it: but who sends is there.
      for await (const piece of reader.rest()) yield piece.subarray(0, 0)
      return
    }
    yield start
    yield line
  }
  yield* reader.rest()
}

/** The length of a line, with the four digits that say it; 0 where they do not. */
function lengthIn(start: Buffer): number {
  const digits = start.toString("latin1")
  return /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 0
}

/** A report that says why nothing was taken. */
function saying(why: string, hasSideBand: boolean): Buffer {
  const report = Buffer.concat([pktLine(`unpack ${why}\n`), FLUSH])
  if (!hasSideBand) return report
  return Buffer.concat([pktLine(Buffer.concat([Buffer.from([1]), report])), FLUSH])
}
