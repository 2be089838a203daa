/** What is stored, stream by stream, as the audit reads it: the text, the facts, and who caused them. */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { categoryOf } from "../../domain/kernel/streams.ts"
import { PROGRAM } from "../../src/slices.ts"
import { NO_HASH, expectedHash, readMetadata } from "../../src/frame/kernel/envelope.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"

/** The facts that one command stored. */
export interface Group {
  readonly cause: string
  /** The revision of the first of them. */
  readonly from: number
  readonly facts: AnyFact[]
  /** The same as they are stored. */
  readonly texts: string[]
}

/** A stream. */
export interface StoredStream {
  readonly stream: string
  readonly events: readonly StoredEvent[]
  readonly facts: readonly AnyFact[]
  readonly hashes: readonly string[]
  readonly groups: readonly Group[]
}

/** Reads everything that is stored; what is not whole in it is told in `breaks`. */
export function readStreams(
  events: readonly StoredEvent[],
  breaks: string[],
): ReadonlyMap<string, StoredStream> {
  const byStream = Map.groupBy(events, ({ stream }) => stream)
  const streams = [...byStream].map(([stream, own]) => readStream(stream, own, breaks))
  return new Map(streams.map((one) => [one.stream, one]))
}

function readStream(
  stream: string,
  events: readonly StoredEvent[],
  breaks: string[],
): StoredStream {
  const codec = PROGRAM.streams.codecOf(stream)
  const facts: AnyFact[] = []
  const hashes: string[] = []
  const groups: Group[] = []
  let before = NO_HASH
  for (const [revision, stored] of events.entries()) {
    const { hash, version, command } = readMetadata(stored.metadata)
    const isWhole = hash === expectedHash(stored, before) && stored.revision === revision
    if (!isWhole) breaks.push(`the chain of ${stream} is broken at ${revision}`)
    const fact = codec.decode(stored.type, version, stored.data)
    if (codec.encode(fact) !== stored.data) breaks.push(`${stream} ${revision} is no stored form`)
    if (fact.at < (facts.at(-1)?.at ?? 0)) breaks.push(`${stream} ${revision} is before its time`)
    facts.push(fact)
    hashes.push(hash)
    before = hash
    const group = groups.at(-1)
    const own = group?.cause === command ? group : newGroup(command, revision)
    if (own !== group) groups.push(own)
    own.facts.push(fact)
    own.texts.push(stored.data)
  }
  return { stream, events, facts, hashes, groups }
}

function newGroup(cause: string, from: number): Group {
  return { cause, from, facts: [], texts: [] }
}

/** The facts of a ledger. */
export function ledgerFacts({ facts }: StoredStream): readonly LedgerEvent[] {
  return facts as readonly LedgerEvent[]
}

/** The ledgers among streams. */
export function ledgersIn(streams: ReadonlyMap<string, StoredStream>): readonly StoredStream[] {
  return [...streams.values()].filter(({ stream }) => categoryOf(stream) === "ledger")
}
