/** An event as the server keeps it. */
export interface LogRecord {
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
  /** Where it begins in the log. */
  readonly commit: bigint
  readonly prepare: bigint
}

/** An event as it is handed to the server. */
export type LogEvent = Pick<LogRecord, "id" | "type" | "contentType" | "data" | "metadata">

/** The revision that an append expects. */
export type Expected = number | "any" | "no_stream" | "stream_exists"

/** What an append comes to: the revision and place of its last event, or the stream's last revision. */
export type AppendResult =
  | { readonly revision: number; readonly commit: bigint; readonly prepare: bigint }
  | { readonly found: number }

/** What one append stored. */
export interface Stored {
  readonly stream: string
  readonly events: readonly LogEvent[]
  /** How far its places of commit are behind its events. */
  readonly commitsBehind: bigint
}

/** Where a log keeps what it stores, so that another one can go on from it. */
export interface Keeper {
  readonly read: () => readonly Stored[]
  readonly write: (stored: Stored) => void
}

/** What each record takes up beside its text. */
const HEADER_BYTES = 92n

/**
 * All events of a server in one order, in memory, and with a keeper where it has one. Places grow by
 * the size of what was written.
 */
export class EventLog {
  readonly #keeper: Keeper | null
  readonly #records: LogRecord[] = []
  readonly #streams = new Map<string, LogRecord[]>()
  readonly #listeners = new Set<(records: readonly LogRecord[]) => void>()
  #end = 1_024n

  constructor(keeper: Keeper | null = null) {
    this.#keeper = keeper
    for (const { stream, events, commitsBehind } of keeper?.read() ?? []) {
      this.#keep(stream, events, commitsBehind)
    }
  }

  /** All records in their order. */
  get records(): readonly LogRecord[] {
    return this.#records
  }

  /** The records of a stream, undefined when there is no such stream. */
  stream(name: string): readonly LogRecord[] | undefined {
    return this.#streams.get(name)
  }

  /** Calls the listener with what each append stored, until the returned function is called. */
  onAppended(listener: (records: readonly LogRecord[]) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Appends as the server does. The same ids at the same revision succeed as the first time; where only
   * some are known the revision is wrong.
   */
  append(name: string, expected: Expected, events: readonly LogEvent[]): AppendResult {
    const there = this.#streams.get(name) ?? []
    const last = there.length - 1
    const first = firstRevision(expected, there, events)
    if (first === null) return { found: last }
    const known = there.slice(first, first + events.length)
    if (first <= last && known.length > 0) {
      const isRepeated = known.map(({ id }) => id).join() === events.map(({ id }) => id).join()
      return isRepeated ? answerOf(known) : { found: last }
    }
    // Success at revision 0, and there is no stream.
    if (events.length === 0) return { revision: 0, commit: this.#end, prepare: this.#end }
    return answerOf(this.#store(name, events))
  }

  /** Writes what a transaction of the old protocol wrote: its place of commit is behind the event. */
  appendInTransaction(name: string, events: readonly LogEvent[]): void {
    this.#store(name, events, 50n)
  }

  #store(name: string, events: readonly LogEvent[], commitsBehind = 0n): readonly LogRecord[] {
    this.#keeper?.write({ stream: name, events, commitsBehind })
    const stored = this.#keep(name, events, commitsBehind)
    for (const listener of [...this.#listeners]) listener(stored)
    return stored
  }

  #keep(name: string, events: readonly LogEvent[], commitsBehind: bigint): readonly LogRecord[] {
    const there = this.#streams.get(name) ?? []
    const stored = events.map((event, index) => {
      const prepare = this.#end
      const size = BigInt(event.data.length + event.metadata.length + 2 * event.type.length)
      this.#end += HEADER_BYTES + size + commitsBehind
      const revision = there.length + index
      return { ...event, stream: name, revision, commit: prepare + commitsBehind, prepare }
    })
    there.push(...stored)
    this.#streams.set(name, there)
    this.#records.push(...stored)
    return stored
  }
}

/** The revision that the first event would have, null when that is not the one expected. */
function firstRevision(
  expected: Expected,
  there: readonly LogRecord[],
  events: readonly LogEvent[],
): number | null {
  const next = there.length
  if (typeof expected === "number") return expected < next ? expected + 1 : null
  if (expected === "no_stream") return 0
  if (expected === "stream_exists" && next === 0) return null
  const known = there.findIndex(({ id }) => id === events[0]?.id)
  return known === -1 ? next : known
}

function answerOf(records: readonly LogRecord[]): AppendResult {
  const last = records.at(-1)
  if (last === undefined) throw new Error("an answer needs an event")
  return { revision: last.revision, commit: last.commit, prepare: last.prepare }
}
