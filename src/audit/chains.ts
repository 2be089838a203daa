/**
 * The end of each stream's chain, in about 200 bytes a stream: an audit of a million streams holds the
 * names, revisions and hashes of all of them, and no state of a decider.
 */
import { NO_STREAM } from "../../adapters/eventstore/port.ts"
import { NO_HASH } from "../frame/kernel/envelope.ts"

const FIRST_STREAMS = 256
const HASH_BYTES = 32

/** The ends of chains, by the number that each stream has here. */
export class Chains {
  readonly #numbers = new Map<string, number>()
  #revisions = new Int32Array(FIRST_STREAMS)
  #hashes = Buffer.alloc(FIRST_STREAMS * HASH_BYTES)
  #broken = new Uint8Array(FIRST_STREAMS)

  /** How many streams were met. */
  get size(): number {
    return this.#numbers.size
  }

  /** The streams in the order in which they were met: the place of each is its number. */
  names(): IterableIterator<string> {
    return this.#numbers.keys()
  }

  /** The number of a stream; undefined where no event of it was met. */
  numberOf(stream: string): number | undefined {
    return this.#numbers.get(stream)
  }

  /** Gives a stream its number, at the beginning of its chain. */
  add(stream: string): number {
    const number = this.#numbers.size
    if (number === this.#revisions.length) this.#grow()
    this.#numbers.set(stream, number)
    this.#revisions[number] = NO_STREAM
    this.setHash(number, NO_HASH)
    return number
  }

  revisionOf(number: number): number {
    return this.#revisions[number] as number
  }

  setRevision(number: number, revision: number): void {
    this.#revisions[number] = revision
  }

  /** The hash of the last event, in hexadecimal. */
  hashOf(number: number): string {
    const start = number * HASH_BYTES
    return this.#hashes.toString("hex", start, start + HASH_BYTES)
  }

  setHash(number: number, hash: string): void {
    this.#hashes.write(hash, number * HASH_BYTES, HASH_BYTES, "hex")
  }

  /** Whether the chain of a stream was found broken. */
  isBroken(number: number): boolean {
    return this.#broken[number] === 1
  }

  break(number: number): void {
    this.#broken[number] = 1
  }

  #grow(): void {
    const [revisions, hashes, broken] = [this.#revisions, this.#hashes, this.#broken]
    this.#revisions = new Int32Array(revisions.length * 2)
    this.#revisions.set(revisions)
    this.#hashes = Buffer.alloc(hashes.length * 2)
    hashes.copy(this.#hashes)
    this.#broken = new Uint8Array(broken.length * 2)
    this.#broken.set(broken)
  }
}
