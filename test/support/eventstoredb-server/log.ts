/** The event log of the simulated EventStoreDB server. */
import { randomUUID } from "node:crypto"
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs"

/** An event as the server stores it. */
export interface LogRecord {
  readonly stream: string
  readonly revision: number
  readonly id: string
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
  /** When it was stored, UTC milliseconds. */
  readonly at: number
  /** Its position in the log. */
  readonly commit: bigint
  readonly prepare: bigint
}

/** An event as a client sends it. */
export type LogEvent = Pick<LogRecord, "id" | "type" | "contentType" | "data" | "metadata">

export type ExpectedLogRevision = number | "any" | "no_stream"

/**
 * Result of an append: revision and position of its last event, or the last revision that the stream has instead, or
 * that the stream was hard-deleted.
 */
export type LogAppendResult =
  | { readonly revision: number; readonly commit: bigint; readonly prepare: bigint }
  | { readonly found: number | "deleted" }

/** What a reader of a stream gets: its records, or why there are none. */
type VisibleStream = readonly LogRecord[] | "no stream" | "deleted"

interface LogEntry {
  readonly stream: string
  readonly events: readonly LogEvent[]
  /** Distance of its commit positions from its prepare positions. */
  readonly commitDistance: bigint
  /** When it was stored, UTC milliseconds. */
  readonly at: number
}

/** Persistent storage of a log, from which another log can continue. */
interface LogStorage {
  readonly read: () => readonly LogEntry[]
  readonly write: (stored: LogEntry) => void
}

/** The event that a real server writes when a stream is hard-deleted; reads of `$all` return it. */
const TOMBSTONE = "$streamDeleted"
/** The tombstone's revision: the largest possible. */
const LAST_REVISION = Number(2n ** 63n - 1n)

/** Size of a record without its content. */
const HEADER_BYTES = 92n

/** Position of the first record. */
const FIRST_POSITION = 1_024n

/** Position after a record. */
function endOf({ commit, data, metadata, type }: LogRecord): bigint {
  return commit + HEADER_BYTES + BigInt(data.length + metadata.length + 2 * type.length)
}

/** A stream of the log; scavenging does not change its next revision. */
interface Stream {
  readonly records: LogRecord[]
  /** The revision that the next event gets. */
  next: number
  isDeleted: boolean
}

/** All events of a server in order, in memory and in a storage if it has one. Positions grow by the size of records. */
export class EventLog {
  /** Number of events that reads of `$all` have examined. */
  readCount = 0
  readonly #storage: LogStorage | null
  readonly #records: LogRecord[] = []
  readonly #streams = new Map<string, Stream>()
  readonly #listeners = new Set<(records: readonly LogRecord[]) => void>()
  #end = FIRST_POSITION

  constructor(storage: LogStorage | null = null) {
    this.#storage = storage
    for (const stored of storage?.read() ?? []) this.#addEntry(stored)
  }

  /** All records in their order. */
  get records(): readonly LogRecord[] {
    return this.#records
  }

  /** All records of a stream, visible or not; undefined if there is no such stream. */
  stream(name: string): readonly LogRecord[] | undefined {
    return this.#streams.get(name)?.records
  }

  /** What a reader of a stream gets, by the stream's settings. */
  visibleStream(name: string, now: number): VisibleStream {
    const existing = this.#streams.get(name)
    if (existing === undefined) return "no stream"
    if (existing.isDeleted) return "deleted"
    const { $maxCount = Infinity, $maxAge = Infinity, $tb = 0 } = this.#settingsOf(name)
    if ($tb >= SOFTLY_DELETED) return "no stream"
    const first = Math.max($tb, existing.next - $maxCount)
    return existing.records.filter(
      ({ revision, at }) => revision >= first && now - at < $maxAge * 1_000,
    )
  }

  /** Calls the listener with the records of each append, until the returned function is called. */
  onAppended(listener: (records: readonly LogRecord[]) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Appends as the server does. A repeated append of the same ids at the same revision succeeds again; if only some
   * ids are known, the revision is wrong.
   */
  append(
    name: string,
    expected: ExpectedLogRevision,
    events: readonly LogEvent[],
  ): LogAppendResult {
    const existing = this.#streams.get(name)
    if (existing?.isDeleted === true) return { found: "deleted" }
    const next = existing?.next ?? 0
    // A soft-deleted stream that is started again continues at its old revision.
    const isRestarted = expected === "no_stream" && this.#isSoftlyDeleted(name)
    const records = existing?.records ?? []
    const first = firstRevision(isRestarted ? "any" : expected, next, records, events)
    if (first === null) return { found: next - 1 }
    const isKnown = first < next
    const known = isKnown ? records.filter(({ revision }) => revision >= first) : []
    known.length = Math.min(known.length, events.length)
    if (known.length > 0) {
      const isRepeated = known.map(({ id }) => id).join() === events.map(({ id }) => id).join()
      return isRepeated ? answerOf(known) : { found: next - 1 }
    }
    // The server answers success at revision 0 and creates no stream.
    if (events.length === 0) return { revision: 0, commit: this.#end, prepare: this.#end }
    return answerOf(this.#store(name, events))
  }

  /** Writes like a transaction of the old protocol, whose commit position is after its prepare position. */
  appendInTransaction(name: string, events: readonly LogEvent[]): void {
    this.#store(name, events, 50n)
  }

  /** Sets a stream's settings, as anyone who may write to it can. */
  set(name: string, settings: Settings): void {
    this.append(`$$${name}`, "any", [{ ...settingsEvent(settings), id: randomUUID() }])
  }

  /** Soft-deletes a stream: it may be started again. */
  deleteSoftly(name: string): void {
    this.set(name, { $tb: SOFTLY_DELETED })
  }

  /** Hard-deletes a stream: it can never be written to again. */
  deleteForGood(name: string): void {
    const existing = this.#streams.get(name)
    if (existing === undefined) return
    existing.isDeleted = true
    const event = { id: randomUUID(), type: TOMBSTONE, contentType: "application/octet-stream" }
    const at = { stream: name, revision: LAST_REVISION, at: Date.now() }
    const nothing = { data: new Uint8Array(), metadata: new Uint8Array() }
    const tombstone = { ...event, ...at, ...nothing, commit: this.#end, prepare: this.#end }
    this.#end += HEADER_BYTES
    this.#records.push(tombstone)
    this.#notify([tombstone])
  }

  /** Removes records that readers of their stream no longer get, and records that `isLost` names. */
  scavenge(now: number, isLost: (record: LogRecord) => boolean = () => false): void {
    this.#retain((record) => {
      if (record.stream.startsWith("$") || record.type === TOMBSTONE) return true
      const shown = this.visibleStream(record.stream, now)
      return typeof shown !== "string" && shown.includes(record) && !isLost(record)
    })
  }

  /** Replaces the records of a stream, as on a corrupt server. */
  rewrite(name: string, change: (records: readonly LogRecord[]) => readonly LogRecord[]): void {
    const changed = change(this.#streams.get(name)?.records ?? [])
    const others = this.#records.filter(({ stream }) => stream !== name)
    const all = [...others, ...changed].toSorted((a, b) => Number(a.commit - b.commit))
    this.#retain(() => false)
    for (const record of all) {
      this.#records.push(record)
      this.#streams.get(record.stream)?.records.push(record)
    }
  }

  /** Removes everything after a position, as a node does that lost an election. */
  truncate(after: bigint): void {
    this.#retain(({ commit }) => commit <= after)
    const last = this.#records.at(-1)
    // New records reuse the positions of the removed ones.
    this.#end = last === undefined ? FIRST_POSITION : endOf(last)
    for (const existing of this.#streams.values()) {
      existing.next = (existing.records.at(-1)?.revision ?? -1) + 1
    }
  }

  /** Adds the records of another node, with their positions. */
  replicate(records: readonly LogRecord[]): void {
    for (const record of records) {
      this.#add(record)
      this.#end = endOf(record)
    }
    this.#notify(records)
  }

  #store(name: string, events: readonly LogEvent[], commitDistance = 0n): readonly LogRecord[] {
    const isRestarted = this.#isSoftlyDeleted(name)
    const entry = { stream: name, events, commitDistance, at: Date.now() }
    this.#storage?.write(entry)
    const stored = this.#addEntry(entry)
    if (isRestarted) this.set(name, { $tb: stored[0]?.revision ?? 0 })
    this.#notify(stored)
    return stored
  }

  #addEntry({ stream, events, commitDistance, at }: LogEntry): readonly LogRecord[] {
    const next = this.#streams.get(stream)?.next ?? 0
    return events.map((event, index) => {
      const prepare = this.#end
      const size = BigInt(event.data.length + event.metadata.length + 2 * event.type.length)
      this.#end += HEADER_BYTES + size + commitDistance
      const position = { stream, revision: next + index, at, commit: prepare + commitDistance }
      return this.#add({ ...event, ...position, prepare })
    })
  }

  #add(record: LogRecord): LogRecord {
    const existing = this.#streams.get(record.stream) ?? { records: [], next: 0, isDeleted: false }
    existing.records.push(record)
    existing.next = record.revision + 1
    this.#streams.set(record.stream, existing)
    this.#records.push(record)
    return record
  }

  #retain(isRetained: (record: LogRecord) => boolean): void {
    const retained = this.#records.filter(isRetained)
    this.#records.length = 0
    for (const { records } of this.#streams.values()) records.length = 0
    for (const record of retained) {
      this.#records.push(record)
      if (record.type !== TOMBSTONE) this.#streams.get(record.stream)?.records.push(record)
    }
  }

  #notify(records: readonly LogRecord[]): void {
    // A copy, because listeners may change the set.
    // eslint-disable-next-line unicorn/no-useless-spread
    for (const listener of [...this.#listeners]) listener(records)
  }

  #isSoftlyDeleted(name: string): boolean {
    return (this.#settingsOf(name).$tb ?? 0) >= SOFTLY_DELETED
  }

  #settingsOf(name: string): Settings {
    if (name.startsWith("$")) return {}
    return settingsIn(this.#streams.get(`$$${name}`)?.records.at(-1))
  }
}

/** The revision of the first event; null if the expected revision is wrong. */
function firstRevision(
  expected: ExpectedLogRevision,
  next: number,
  existing: readonly LogRecord[],
  events: readonly LogEvent[],
): number | null {
  if (typeof expected === "number") return expected < next ? expected + 1 : null
  if (expected === "no_stream") return 0
  return existing.find(({ id }) => id === events[0]?.id)?.revision ?? next
}

function answerOf(records: readonly LogRecord[]): LogAppendResult {
  const last = records.at(-1)
  if (last === undefined) throw new Error("an append without events has no last record")
  return { revision: last.revision, commit: last.commit, prepare: last.prepare }
}

/** The settings of a stream that hide events, by the server's names. */
interface Settings {
  readonly $maxCount?: number
  /** Seconds. */
  readonly $maxAge?: number
  /** The first visible revision. */
  readonly $tb?: number
  /** Who may read and write. */
  readonly $acl?: object
}

/** `$tb` of a soft-deleted stream. */
const SOFTLY_DELETED_TEXT = "9223372036854775807"
const SOFTLY_DELETED = Number(SOFTLY_DELETED_TEXT)

interface SettingsEvent {
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

function settingsEvent(settings: Settings): SettingsEvent {
  const text = JSON.stringify(settings).replace(String(SOFTLY_DELETED), SOFTLY_DELETED_TEXT)
  const type = "$metadata"
  return { type, contentType: "application/json", data: Buffer.from(text), metadata: Buffer.of() }
}

/** The settings in an event; none without an event. */
function settingsIn(event: Pick<SettingsEvent, "data"> | undefined): Settings {
  if (event === undefined) return {}
  return JSON.parse(Buffer.from(event.data).toString()) as Settings
}

/** A log's entries in a file, one line per append. They survive a kill of the process, but not a power failure. */
export class EventLogFile implements LogStorage {
  readonly #path: string
  #file: number | null = null

  constructor(path: string) {
    this.#path = path
  }

  /** Reads the entries. Removes an incomplete last line, which was never acknowledged. */
  read(): readonly LogEntry[] {
    if (!existsSync(this.#path)) return []
    const bytes = readFileSync(this.#path)
    const end = bytes.lastIndexOf("\n") + 1
    if (end < bytes.length) truncateSync(this.#path, end)
    const lines = bytes.subarray(0, end).toString().split("\n")
    return lines.filter((line) => line !== "").map(entryOf)
  }

  write({ stream, events, commitDistance, at }: LogEntry): void {
    this.#file ??= openSync(this.#path, "a")
    const encoded = events.map((event) => ({
      ...event,
      data: Buffer.from(event.data).toString("base64"),
      metadata: Buffer.from(event.metadata).toString("base64"),
    }))
    const rest = { commitDistance: String(commitDistance), at }
    const line = JSON.stringify({ stream, events: encoded, ...rest })
    writeSync(this.#file, `${line}\n`)
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }
}

function entryOf(line: string): LogEntry {
  const { stream, events, commitDistance, at } = JSON.parse(line) as {
    readonly stream: string
    readonly events: readonly (Omit<LogEvent, "data" | "metadata"> & {
      readonly data: string
      readonly metadata: string
    })[]
    readonly commitDistance: string
    readonly at: number
  }
  const read = events.map((event) => ({
    ...event,
    data: Buffer.from(event.data, "base64"),
    metadata: Buffer.from(event.metadata, "base64"),
  }))
  return { stream, events: read, commitDistance: BigInt(commitDistance), at }
}
