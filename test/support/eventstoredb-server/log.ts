import { randomUUID } from "node:crypto"
import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs"

/** An event as the server keeps it. */
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
  /** Where it begins in the log. */
  readonly commit: bigint
  readonly prepare: bigint
}

/** An event as it is handed to the server. */
export type LogEvent = Pick<LogRecord, "id" | "type" | "contentType" | "data" | "metadata">

/** The revision that an append expects. */
export type ExpectedLogRevision = number | "any" | "no_stream"

/**
 * What an append comes to: the revision and place of its last event, or the stream's last revision, or
 * that it was deleted for good.
 */
export type LogAppendResult =
  | { readonly revision: number; readonly commit: bigint; readonly prepare: bigint }
  | { readonly found: number | "deleted" }

/** What is shown of a stream: its records, or why there are none. */
type VisibleStream = readonly LogRecord[] | "no stream" | "deleted"

/** What one append stored. */
interface Stored {
  readonly stream: string
  readonly events: readonly LogEvent[]
  /** How far its places of commit are behind its events. */
  readonly commitsBehind: bigint
  /** When, UTC milliseconds. */
  readonly at: number
}

/** Where a log keeps what it stores, so that another one can go on from it. */
interface LogStorage {
  readonly read: () => readonly Stored[]
  readonly write: (stored: Stored) => void
}

/** What a real server writes behind a stream that is deleted for good; it is shown among all streams. */
const TOMBSTONE = "$streamDeleted"
/** Its revision: the largest that there is. */
const LAST_REVISION = Number(2n ** 63n - 1n)

/** What each record takes up beside its text. */
const HEADER_BYTES = 92n

/** Where the first record stands. */
const FIRST_POSITION = 1_024n

/** Where the record behind another one stands. */
function endOf({ commit, data, metadata, type }: LogRecord): bigint {
  return commit + HEADER_BYTES + BigInt(data.length + metadata.length + 2 * type.length)
}

/** A stream of the log; scavenged events leave what comes next as it was. */
interface Stream {
  readonly records: LogRecord[]
  /** The revision that the next event gets. */
  next: number
  isDeleted: boolean
}

/**
 * All events of a server in one order, in memory, and with a keeper where it has one. Places grow by
 * the size of what was written.
 */
export class EventLog {
  /** So many events were looked at by reads of all streams. */
  readCount = 0
  readonly #keeper: LogStorage | null
  readonly #records: LogRecord[] = []
  readonly #streams = new Map<string, Stream>()
  readonly #listeners = new Set<(records: readonly LogRecord[]) => void>()
  #end = FIRST_POSITION

  constructor(keeper: LogStorage | null = null) {
    this.#keeper = keeper
    for (const stored of keeper?.read() ?? []) this.#keep(stored)
  }

  /** All records in their order. */
  get records(): readonly LogRecord[] {
    return this.#records
  }

  /** The records of a stream, whatever is shown of them; undefined when there is no such stream. */
  stream(name: string): readonly LogRecord[] | undefined {
    return this.#streams.get(name)?.records
  }

  /** What a reader of a stream is shown, by its settings. */
  visibleStream(name: string, now: number): VisibleStream {
    const there = this.#streams.get(name)
    if (there === undefined) return "no stream"
    if (there.isDeleted) return "deleted"
    const { $maxCount = Infinity, $maxAge = Infinity, $tb = 0 } = this.#settingsOf(name)
    if ($tb >= SOFTLY_DELETED) return "no stream"
    const first = Math.max($tb, there.next - $maxCount)
    return there.records.filter(
      ({ revision, at }) => revision >= first && now - at < $maxAge * 1_000,
    )
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
  append(
    name: string,
    expected: ExpectedLogRevision,
    events: readonly LogEvent[],
  ): LogAppendResult {
    const there = this.#streams.get(name)
    if (there?.isDeleted === true) return { found: "deleted" }
    const next = there?.next ?? 0
    // Who begins a stream anew that was deleted, and not for good, goes on where it had ended.
    const isBegun = expected === "no_stream" && this.#isSoftlyDeleted(name)
    const records = there?.records ?? []
    const first = firstRevision(isBegun ? "any" : expected, next, records, events)
    if (first === null) return { found: next - 1 }
    const isKnown = first < next
    const known = isKnown ? records.filter(({ revision }) => revision >= first) : []
    known.length = Math.min(known.length, events.length)
    if (known.length > 0) {
      const isRepeated = known.map(({ id }) => id).join() === events.map(({ id }) => id).join()
      return isRepeated ? answerOf(known) : { found: next - 1 }
    }
    // Success at revision 0, and there is no stream.
    if (events.length === 0) return { revision: 0, commit: this.#end, prepare: this.#end }
    return answerOf(this.#store(name, events))
  }

  /** Writes what a transaction of the old protocol wrote: its place of commit is behind the event. */
  appendInTransaction(name: string, events: readonly LogEvent[]): void {
    this.#store(name, events, 50n)
  }

  /** Sets what is shown of a stream, as anybody may who may write to it. */
  set(name: string, settings: Settings): void {
    this.append(`$$${name}`, "any", [{ ...settingsEvent(settings), id: randomUUID() }])
  }

  /** Deletes a stream, but not for good: it may be begun anew. */
  deleteSoftly(name: string): void {
    this.set(name, { $tb: SOFTLY_DELETED })
  }

  /** Deletes a stream for good: nobody may ever write to it again. */
  deleteForGood(name: string): void {
    const there = this.#streams.get(name)
    if (there === undefined) return
    there.isDeleted = true
    const event = { id: randomUUID(), type: TOMBSTONE, contentType: "application/octet-stream" }
    const at = { stream: name, revision: LAST_REVISION, at: Date.now() }
    const nothing = { data: new Uint8Array(), metadata: new Uint8Array() }
    const tombstone = { ...event, ...at, ...nothing, commit: this.#end, prepare: this.#end }
    this.#end += HEADER_BYTES
    this.#records.push(tombstone)
    this.#tell([tombstone])
  }

  /** Takes out of the log what no reader of its stream is shown any more, and what else is named. */
  scavenge(now: number, isLost: (record: LogRecord) => boolean = () => false): void {
    this.#keepOnly((record) => {
      if (record.stream.startsWith("$") || record.type === TOMBSTONE) return true
      const shown = this.visibleStream(record.stream, now)
      return typeof shown !== "string" && shown.includes(record) && !isLost(record)
    })
  }

  /** Puts other records in the place of a stream's, as a server does that was damaged. */
  rewrite(name: string, change: (records: readonly LogRecord[]) => readonly LogRecord[]): void {
    const changed = change(this.#streams.get(name)?.records ?? [])
    const others = this.#records.filter(({ stream }) => stream !== name)
    const all = [...others, ...changed].toSorted((a, b) => Number(a.commit - b.commit))
    this.#keepOnly(() => false)
    for (const record of all) {
      this.#records.push(record)
      this.#streams.get(record.stream)?.records.push(record)
    }
  }

  /** Cuts off everything behind a place, as a node does that its cluster has left behind. */
  truncate(after: bigint): void {
    this.#keepOnly(({ commit }) => commit <= after)
    const last = this.#records.at(-1)
    // What is stored from here on stands where the rest stood.
    this.#end = last === undefined ? FIRST_POSITION : endOf(last)
    for (const there of this.#streams.values()) {
      there.next = (there.records.at(-1)?.revision ?? -1) + 1
    }
  }

  /** Takes over what another node has stored, with its places. */
  replicate(records: readonly LogRecord[]): void {
    for (const record of records) {
      this.#add(record)
      this.#end = endOf(record)
    }
    this.#tell(records)
  }

  #store(name: string, events: readonly LogEvent[], commitsBehind = 0n): readonly LogRecord[] {
    const isBegunAnew = this.#isSoftlyDeleted(name)
    const kept = { stream: name, events, commitsBehind, at: Date.now() }
    this.#keeper?.write(kept)
    const stored = this.#keep(kept)
    if (isBegunAnew) this.set(name, { $tb: stored[0]?.revision ?? 0 })
    this.#tell(stored)
    return stored
  }

  #keep({ stream, events, commitsBehind, at }: Stored): readonly LogRecord[] {
    const next = this.#streams.get(stream)?.next ?? 0
    return events.map((event, index) => {
      const prepare = this.#end
      const size = BigInt(event.data.length + event.metadata.length + 2 * event.type.length)
      this.#end += HEADER_BYTES + size + commitsBehind
      const place = { stream, revision: next + index, at, commit: prepare + commitsBehind }
      return this.#add({ ...event, ...place, prepare })
    })
  }

  #add(record: LogRecord): LogRecord {
    const there = this.#streams.get(record.stream) ?? { records: [], next: 0, isDeleted: false }
    there.records.push(record)
    there.next = record.revision + 1
    this.#streams.set(record.stream, there)
    this.#records.push(record)
    return record
  }

  #keepOnly(isKept: (record: LogRecord) => boolean): void {
    const kept = this.#records.filter(isKept)
    this.#records.length = 0
    for (const { records } of this.#streams.values()) records.length = 0
    for (const record of kept) {
      this.#records.push(record)
      if (record.type !== TOMBSTONE) this.#streams.get(record.stream)?.records.push(record)
    }
  }

  #tell(records: readonly LogRecord[]): void {
    // A copy: what is called may change the list.
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

/** The revision that the first event would have, null when that is not the one expected. */
function firstRevision(
  expected: ExpectedLogRevision,
  next: number,
  there: readonly LogRecord[],
  events: readonly LogEvent[],
): number | null {
  if (typeof expected === "number") return expected < next ? expected + 1 : null
  if (expected === "no_stream") return 0
  return there.find(({ id }) => id === events[0]?.id)?.revision ?? next
}

function answerOf(records: readonly LogRecord[]): LogAppendResult {
  const last = records.at(-1)
  if (last === undefined) throw new Error("an answer needs an event")
  return { revision: last.revision, commit: last.commit, prepare: last.prepare }
}

/** The settings of a stream that hide events of it, as the server names them. */
interface Settings {
  readonly $maxCount?: number
  /** Seconds. */
  readonly $maxAge?: number
  /** The first revision that is shown. */
  readonly $tb?: number
  /** Who may read and write. */
  readonly $acl?: object
}

/** The first revision that is shown of a stream that was deleted, but not for good. */
const SOFTLY_DELETED_TEXT = "9223372036854775807"
/** The same as a number, as near as one comes to it. */
const SOFTLY_DELETED = Number(SOFTLY_DELETED_TEXT)

/** How settings are stored. */
interface SettingsEvent {
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

/** What is written of settings, to the stream of them. */
function settingsEvent(settings: Settings): SettingsEvent {
  const text = JSON.stringify(settings).replace(String(SOFTLY_DELETED), SOFTLY_DELETED_TEXT)
  const type = "$metadata"
  return { type, contentType: "application/json", data: Buffer.from(text), metadata: Buffer.of() }
}

/** The settings that an event of their stream says; none without one. */
function settingsIn(event: Pick<SettingsEvent, "data"> | undefined): Settings {
  if (event === undefined) return {}
  return JSON.parse(Buffer.from(event.data).toString()) as Settings
}

/**
 * What a server stored, in a file, a line an append. It outlives a kill of the server's process, for
 * the machine has taken over what was written; it is no match for a power cut.
 */
export class EventLogFile implements LogStorage {
  readonly #path: string
  #file: number | null = null

  constructor(path: string) {
    this.#path = path
  }

  /** What is in it. A last line that was cut off is taken out: nobody was told that it is stored. */
  read(): readonly Stored[] {
    if (!existsSync(this.#path)) return []
    const bytes = readFileSync(this.#path)
    const end = bytes.lastIndexOf("\n") + 1
    if (end < bytes.length) truncateSync(this.#path, end)
    const lines = bytes.subarray(0, end).toString().split("\n")
    return lines.filter((line) => line !== "").map(entryOf)
  }

  /** Writes an entry; it is there when this returns. */
  write({ stream, events, commitsBehind, at }: Stored): void {
    this.#file ??= openSync(this.#path, "a")
    const kept = events.map((event) => ({
      ...event,
      data: Buffer.from(event.data).toString("base64"),
      metadata: Buffer.from(event.metadata).toString("base64"),
    }))
    const place = { commitsBehind: String(commitsBehind), at }
    const line = JSON.stringify({ stream, events: kept, ...place })
    writeSync(this.#file, `${line}\n`)
  }

  /** Writes no more. */
  close(): void {
    if (this.#file !== null) closeSync(this.#file)
    this.#file = null
  }
}

function entryOf(line: string): Stored {
  const { stream, events, commitsBehind, at } = JSON.parse(line) as {
    readonly stream: string
    readonly events: readonly (Omit<LogEvent, "data" | "metadata"> & {
      readonly data: string
      readonly metadata: string
    })[]
    readonly commitsBehind: string
    readonly at: number
  }
  const read = events.map((event) => ({
    ...event,
    data: Buffer.from(event.data, "base64"),
    metadata: Buffer.from(event.metadata, "base64"),
  }))
  return { stream, events: read, commitsBehind: BigInt(commitsBehind), at }
}
