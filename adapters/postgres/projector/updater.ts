/**
 * Keeps up one read model. Where this process holds its lease, facts wait here and are written in
 * batches; one that it cannot take stops this read model and no other. Elsewhere the updater stands by:
 * it writes nothing, and knows by the stored position what is written.
 *
 * Wherever the stored position may be another than it thinks (it takes over, a batch was in doubt, the
 * read model was built anew, a crash took commits back) it looks at the table and reads what is missing.
 */
import type { Projection } from "../../../projections/kernel/projection.ts"
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { Unavailable, comparePositions, later } from "../../eventstore/port.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { isConnectionFault } from "../port.ts"
import type { WriterPorts } from "./writer.ts"
import { Pending, readAgain, Writer } from "./writer.ts"
import { FoldFault } from "./port.ts"
import type { StoredRow } from "./tables.ts"
import { factsOf } from "./tables.ts"
import { Waiters } from "./reader.ts"

/** What the reader handed over to one read model. */
class Handed {
  readonly #projection: Projection
  /** Everything up to here was handed over. */
  seen: Position
  /** The last of the read model's facts that was handed over, or written before. */
  lastFact: Position
  /** The last of its facts that were stored when it began; null until all of them were handed over. */
  #lastAtFirst: Position | null = null
  /** The last event that was handed over; null where none was. */
  last: StoredEvent | null = null
  /** Events since the last fact. */
  passed = 0

  constructor(projection: Projection, stored: Position) {
    this.#projection = projection
    this.seen = stored
    this.lastFact = stored
  }

  /** Takes events in global order; gives the facts among them that were not handed over before. */
  take(events: readonly StoredEvent[]): StoredEvent[] {
    const fresh = events.filter((event) => comparePositions(event.position, this.seen) > 0)
    const facts = factsOf(this.#projection, fresh)
    this.last = fresh.at(-1) ?? this.last
    this.seen = fresh.at(-1)?.position ?? this.seen
    this.lastFact = facts.at(-1)?.position ?? this.lastFact
    this.passed = facts.length > 0 ? 0 : this.passed + fresh.length
    return facts
  }

  /** Everything up to here was handed over. */
  reached(head: Position): void {
    this.seen = later(this.seen, head)
    this.#lastAtFirst ??= this.lastFact
  }

  /** Whether all of its facts that were stored when it began are written, with those up to here. */
  hasCaughtUp(written: Position): boolean {
    return this.#lastAtFirst !== null && comparePositions(this.#lastAtFirst, written) <= 0
  }
}

const RETRY_FIRST_MS = 100
const RETRY_MOST_MS = 1_000
/** A position is stored without rows once this many events passed that are none of its facts. */
const STORE_POSITION_EVERY = 2_000

/** What an updater works with. */
export interface UpdaterPorts extends WriterPorts {
  readonly store: EventStore
  readonly pacer: Pacer
  /** What is handed over between two beats is written together, while nobody waits for it. */
  readonly beat: Beat
  readonly warn: (message: string, error: unknown) => void
}

/** Keeps up one read model. */
export class Updater {
  readonly projection: Projection
  /** Why it stopped, here or where it is kept up. */
  fault: string | null = null
  readonly #ports: UpdaterPorts
  readonly #writer: Writer
  /** Those who wait for a place: what is on the way to it is written at once. */
  readonly waiters: Waiters
  readonly #rest: Rest
  /** Whether this process has the lease to keep it up. */
  #isHere = false
  /** Doubts about the stored position, and those cleared: before one is, the table is looked at. */
  #doubts = 0
  #cleared = 0
  #isClosing = false
  #working: Promise<void> | null = null
  /** None where it stands by. */
  readonly #pending = new Pending()
  readonly #handed: Handed

  constructor(ports: UpdaterPorts, projection: Projection, stored: Position) {
    this.#ports = ports
    this.#rest = new Rest(ports.pacer, ports.beat)
    this.waiters = new Waiters(() => this.#rest.cutShort())
    this.projection = projection
    this.#writer = new Writer(ports, projection, stored)
    this.#handed = new Handed(projection, stored)
  }

  /** Whether this process keeps it up. */
  get isHere(): boolean {
    return this.#isHere
  }

  /** The same, and all that is stored was handed over here. */
  get isSure(): boolean {
    return this.#isHere && !this.#isUnsure
  }

  /** Facts handed over and not yet written, and how long the oldest has waited, milliseconds. */
  get behind(): { readonly facts: number; readonly ms: number } {
    return this.#pending.waiting(this.#ports.pacer.elapsedMs())
  }

  /** All its facts up to here are written. */
  get position(): Position {
    const { stored } = this.#writer
    return this.#isWhole ? later(stored, this.#handed.seen) : stored
  }

  /** Whether all its facts up to a place are written. */
  has(place: Position): boolean {
    // Lists without their indexes would be read for long.
    if (this.#isHere && !this.#writer.isIndexed) return false
    if (comparePositions(place, this.position) <= 0) return true
    if (comparePositions(place, this.#handed.seen) > 0) return false
    // Everything before the first fact that waits is written, too.
    const next = this.#isUnsure ? undefined : this.#pending.first
    return next !== undefined && comparePositions(place, next.position) < 0
  }

  /** Takes events in global order; those it has had already are passed over. */
  deliver(events: readonly StoredEvent[]): void {
    const facts = this.#handed.take(events)
    if (this.#isHere && this.fault === null) {
      this.#pending.add(facts, this.#writer.stored, this.#ports.pacer.elapsedMs())
    }
    if (this.#pending.isFull) this.#rest.cutShort()
    this.#wake()
    this.#tell()
  }

  /** Everything up to here was handed over. */
  reached(head: Position): void {
    this.#handed.reached(head)
    this.#wake()
    this.#tell()
  }

  /** Resolves when no more than `most` facts wait, or nobody works on them. */
  async drained(most: number): Promise<void> {
    while (this.#pending.count > most && this.#working !== null) await this.#working
  }

  /** The lease came to this process. */
  takeUp(): void {
    this.#isHere = true
    this.lookAgain()
  }

  /** The lease is another's from here on; what is just being written may still come in. */
  putDown(): void {
    this.#isHere = false
    this.#pending.clear()
    this.#rest.cutShort()
  }

  /** What is stored may have changed: it is looked at, and a stopped read model begins again. */
  lookAgain(): void {
    this.fault = null
    this.#doubts += 1
    this.#rest.cutShort()
    this.#wake()
  }

  /** Learns what is stored, where another process keeps it up, or somebody mended it. */
  follow({ position, version, fault }: StoredRow): void {
    const isMended = this.fault !== null && fault === null && version === this.projection.version
    if (this.#isHere) return isMended ? this.lookAgain() : undefined
    this.#writer.stored = position
    this.fault = fault
    return this.#tell()
  }

  /** It will be closed: from here on it does not wait for a database that is away. */
  leave(): void {
    this.#isClosing = true
    this.#rest.cutShort()
  }

  /** Writes what waits if the database is there, stores the position and stops. */
  async close(): Promise<void> {
    this.leave()
    while (this.#working !== null) await this.#working
    const isKept = this.#isHere && this.fault === null && !this.#isUnsure
    this.#isHere = false
    if (isKept && comparePositions(this.position, this.#writer.stored) > 0) {
      await this.#writer.moveTo(this.position, this.#handed.last).catch((error: unknown) => {
        // Events that are none of its facts are passed over once more.
        this.#ports.warn(`the position of ${this.projection.name} could not be stored`, error)
      })
    }
    this.waiters.giveUp()
  }

  get #isUnsure(): boolean {
    return this.#doubts > this.#cleared
  }

  /** Whether all facts handed over are written. */
  get #isWhole(): boolean {
    return comparePositions(this.#handed.lastFact, this.#writer.stored) <= 0
  }

  get #hasWork(): boolean {
    if (!this.#isHere || this.fault !== null) return false
    // Who closes leaves to the next what is to be read again.
    if (this.#isUnsure || this.#lacksIndexes) return !this.#isClosing
    return this.#pending.count > 0 || this.#handed.passed >= STORE_POSITION_EVERY
  }

  /** Whether it has caught up, and an index that only lists use may be missing. */
  get #lacksIndexes(): boolean {
    return !this.#writer.isIndexed && this.#handed.hasCaughtUp(this.#writer.stored)
  }

  #tell(): void {
    if (this.fault !== null) return this.waiters.giveUp()
    return this.waiters.tell((place) => this.has(place))
  }

  #wake(): void {
    if (this.#working !== null || !this.#hasWork) return
    this.#working = this.#work().finally(() => {
      this.#working = null
      this.#wake()
    })
  }

  async #work(): Promise<void> {
    let retryMs = RETRY_FIRST_MS
    while (this.#hasWork) {
      try {
        if (this.#isUnsure) await this.#catchUp()
        else if (this.#lacksIndexes) await this.#writer.index()
        else if (this.#mayRest) await this.#rest.take()
        else if (this.#pending.count > 0) await this.#writePending()
        else await this.#storePosition()
        retryMs = RETRY_FIRST_MS
      } catch (error) {
        if (!isConnectionFault(error) && !(error instanceof Unavailable)) {
          this.#halt(error instanceof Error ? error.message : String(error), error)
          return
        }
        this.#ports.warn(`read model ${this.projection.name} waits for the database`, error)
        // Nobody knows what of it is stored.
        this.#doubts += 1
        if (this.#isClosing) return
        await this.#ports.pacer.pause(retryMs)
        retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
      }
      this.#tell()
    }
  }

  /** Looks at what is stored, and writes what was handed over beyond it, read anew from the store. */
  async #catchUp(): Promise<void> {
    const { name, version } = this.projection
    const doubts = this.#doubts
    const row = await this.#writer.look()
    if (row.version !== version) {
      return this.#halt("another version of this program keeps it up", null)
    }
    if (comparePositions(row.position, this.#writer.stored) < 0) {
      this.#ports.warn(`read model ${name} was set back, and goes on from there`, null)
    }
    this.#writer.stored = row.position
    // What comes from here on waits behind what is read here.
    this.#pending.clear()
    const places = { after: row.position, until: this.#handed.seen }
    const missing = readAgain(this.#ports.store, this.projection, places)
    for await (const batch of this.#isWhole ? [] : missing) {
      if (!this.#isHere || this.#isClosing) return undefined
      if (!(await this.#write(batch))) return undefined
      this.#tell()
    }
    this.#cleared = doubts
    return undefined
  }

  /** Whether the next batch may gather for a while: nobody waits, and it is not full. */
  get #mayRest(): boolean {
    if (!this.waiters.isEmpty || this.#isClosing) return false
    return !this.#pending.isFull && this.#rest.leftMs > 0
  }

  async #writePending(): Promise<void> {
    if (await this.#write(this.#pending.batch)) this.#pending.written(this.#writer.stored)
  }

  async #storePosition(): Promise<void> {
    this.#handed.passed = 0
    if (!(await this.#writer.moveTo(this.position, this.#handed.last))) this.#doubts += 1
  }

  /** Writes a batch; false where it is not to go on from there. */
  async #write(batch: readonly StoredEvent[]): Promise<boolean> {
    this.#rest.begin()
    const written = await this.#writer.writeInParts(batch)
    if (written instanceof FoldFault) {
      await this.#stop(written)
      return false
    }
    if (!written) this.#doubts += 1
    return written
  }

  /** A fact that cannot be taken: the updater stands still before it and says which it was. */
  async #stop({ message: fault, cause }: FoldFault): Promise<void> {
    await this.#writer.noteFault(fault).catch((lost: unknown) => {
      this.#ports.warn(`why ${this.projection.name} stopped could not be stored`, lost)
    })
    this.#halt(fault, cause)
  }

  #halt(fault: string, error: unknown): void {
    this.fault = fault
    this.#pending.clear()
    this.#ports.warn(`read model ${this.projection.name} stopped at ${fault}`, error)
    this.waiters.giveUp()
  }
}

/** Facts that come without a break are gathered until the next beat, so that many share one transaction. */
export const BEAT_MS = 100

/** The next beat of a process, which all who rest wait for together: their batches begin together. */
export class Beat {
  readonly #pacer: Pacer
  readonly #everyMs: number
  #next: { readonly atMs: number; readonly reached: Promise<void> } | null = null

  constructor(pacer: Pacer, everyMs: number) {
    this.#pacer = pacer
    this.#everyMs = everyMs
  }

  /** When the first beat after a moment is. */
  after(ms: number): number {
    return (Math.floor(ms / this.#everyMs) + 1) * this.#everyMs
  }

  /** Resolves at a beat. */
  reached(atMs: number): Promise<void> {
    if (this.#next?.atMs !== atMs) {
      const leftMs = Math.max(0, atMs - this.#pacer.elapsedMs())
      this.#next = { atMs, reached: this.#pacer.pause(leftMs) }
    }
    return this.#next.reached
  }
}

/** The rest between two batches of a read model: until the first beat after the former began. */
class Rest {
  readonly #pacer: Pacer
  readonly #beat: Beat
  #until = -Infinity
  #cut: PromiseWithResolvers<void> | null = null

  constructor(pacer: Pacer, beat: Beat) {
    this.#pacer = pacer
    this.#beat = beat
  }

  /** How long it still is, in milliseconds; 0 where it is over. */
  get leftMs(): number {
    return Math.max(0, this.#until - this.#pacer.elapsedMs())
  }

  /** A batch begins. */
  begin(): void {
    this.#until = this.#beat.after(this.#pacer.elapsedMs())
  }

  /** Resolves when it is over, or cut short. A timer may be early by a moment: it is over all the same. */
  async take(): Promise<void> {
    this.#cut = Promise.withResolvers()
    await Promise.race([this.#beat.reached(this.#until), this.#cut.promise])
    this.#cut = null
    this.#until = -Infinity
  }

  /** Whoever rests goes on at once. */
  cutShort(): void {
    this.#cut?.resolve()
  }
}
