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
import { Unavailable, comparePositions, laterPosition } from "../../eventstore/port.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { isConnectionFault } from "../port.ts"
import type { WriterPorts } from "./writer.ts"
import { PendingFacts, readMissingFacts, ReadModelWriter } from "./writer.ts"
import { FoldFault } from "./port.ts"
import type { StoredProjection } from "./tables.ts"
import { factsOf } from "./tables.ts"
import { PositionWaiters } from "./event-feed.ts"

/** What the reader handed over to one read model. */
class DeliveredFacts {
  readonly #projection: Projection
  /** Everything up to here was handed over. */
  deliveredUpTo: Position
  /** The last of the read model's facts that was handed over, or written before. */
  lastFact: Position
  /** The last of its facts that were stored when it began; null until all of them were handed over. */
  #lastInitialFact: Position | null = null
  /** The last event that was handed over; null where none was. */
  lastEvent: StoredEvent | null = null
  /** Events since the last fact. */
  eventsSinceLastFact = 0

  constructor(projection: Projection, stored: Position) {
    this.#projection = projection
    this.deliveredUpTo = stored
    this.lastFact = stored
  }

  /** Takes events in global order; gives the facts among them that were not handed over before. */
  addNew(events: readonly StoredEvent[]): StoredEvent[] {
    const fresh = events.filter((event) => comparePositions(event.position, this.deliveredUpTo) > 0)
    const facts = factsOf(this.#projection, fresh)
    this.lastEvent = fresh.at(-1) ?? this.lastEvent
    this.deliveredUpTo = fresh.at(-1)?.position ?? this.deliveredUpTo
    this.lastFact = facts.at(-1)?.position ?? this.lastFact
    this.eventsSinceLastFact = facts.length > 0 ? 0 : this.eventsSinceLastFact + fresh.length
    return facts
  }

  /** Everything up to here was handed over. */
  noteCaughtUp(head: Position): void {
    this.deliveredUpTo = laterPosition(this.deliveredUpTo, head)
    this.#lastInitialFact ??= this.lastFact
  }

  /** Whether all of its facts that were stored when it began are written, with those up to here. */
  hasCaughtUp(written: Position): boolean {
    return this.#lastInitialFact !== null && comparePositions(this.#lastInitialFact, written) <= 0
  }
}

const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 1_000
/** A position is stored without rows once this many events passed that are none of its facts. */
const STORE_POSITION_EVERY = 2_000

/** What an updater works with. */
export interface UpdaterPorts extends WriterPorts {
  readonly store: EventStore
  readonly pacer: Pacer
  /** What is handed over between two beats is written together, while nobody waits for it. */
  readonly batchTicker: BatchTicker
  readonly warn: (message: string, error: unknown) => void
}

/** Keeps up one read model. */
export class ReadModelUpdater {
  readonly projection: Projection
  /** Why it stopped, here or where it is kept up. */
  fault: string | null = null
  readonly #ports: UpdaterPorts
  readonly #writer: ReadModelWriter
  /** Those who wait for a place: what is on the way to it is written at once. */
  readonly waiters: PositionWaiters
  readonly #batchPause: BatchPause
  /** Whether this process has the lease to keep it up. */
  #isActive = false
  /** Doubts about the stored position, and those cleared: before one is, the table is looked at. */
  #doubts = 0
  #clearedDoubts = 0
  #isClosing = false
  #running: Promise<void> | null = null
  /** None where it stands by. */
  readonly #pending = new PendingFacts()
  readonly #delivered: DeliveredFacts

  constructor(ports: UpdaterPorts, projection: Projection, stored: Position) {
    this.#ports = ports
    this.#batchPause = new BatchPause(ports.pacer, ports.batchTicker)
    this.waiters = new PositionWaiters(() => this.#batchPause.cutShort())
    this.projection = projection
    this.#writer = new ReadModelWriter(ports, projection, stored)
    this.#delivered = new DeliveredFacts(projection, stored)
  }

  /** Whether this process keeps it up. */
  get isActive(): boolean {
    return this.#isActive
  }

  /** The same, and all that is stored was handed over here. */
  get isInSync(): boolean {
    return this.#isActive && !this.#hasDoubts
  }

  /** Facts handed over and not yet written, and how long the oldest has waited, milliseconds. */
  get backlog(): { readonly facts: number; readonly ms: number } {
    return this.#pending.backlog(this.#ports.pacer.elapsedMs())
  }

  /** All its facts up to here are written. */
  get position(): Position {
    const { storedPosition } = this.#writer
    return this.#isFullyWritten
      ? laterPosition(storedPosition, this.#delivered.deliveredUpTo)
      : storedPosition
  }

  /** Whether all its facts up to a place are written. */
  hasWritten(place: Position): boolean {
    // Lists without their indexes would be read for long.
    if (this.#isActive && !this.#writer.isIndexed) return false
    if (comparePositions(place, this.position) <= 0) return true
    if (comparePositions(place, this.#delivered.deliveredUpTo) > 0) return false
    // Everything before the first fact that waits is written, too.
    const next = this.#hasDoubts ? undefined : this.#pending.first
    return next !== undefined && comparePositions(place, next.position) < 0
  }

  /** Takes events in global order; those it has had already are passed over. */
  deliver(events: readonly StoredEvent[]): void {
    const facts = this.#delivered.addNew(events)
    if (this.#isActive && this.fault === null) {
      this.#pending.add(facts, this.#writer.storedPosition, this.#ports.pacer.elapsedMs())
    }
    if (this.#pending.isFull) this.#batchPause.cutShort()
    this.#wake()
    this.#notifyWaiters()
  }

  /** Everything up to here was handed over. */
  noteCaughtUp(head: Position): void {
    this.#delivered.noteCaughtUp(head)
    this.#wake()
    this.#notifyWaiters()
  }

  /** Resolves when no more than `most` facts wait, or nobody works on them. */
  async waitForRoom(most: number): Promise<void> {
    while (this.#pending.count > most && this.#running !== null) await this.#running
  }

  /** The lease came to this process. */
  activate(): void {
    this.#isActive = true
    this.recheck()
  }

  /** The lease is another's from here on; what is just being written may still come in. */
  deactivate(): void {
    this.#isActive = false
    this.#pending.clear()
    this.#batchPause.cutShort()
  }

  /** What is stored may have changed: it is looked at, and a stopped read model begins again. */
  recheck(): void {
    this.fault = null
    this.#doubts += 1
    this.#batchPause.cutShort()
    this.#wake()
  }

  /** Learns what is stored, where another process keeps it up, or somebody mended it. */
  noteStored({ position, version, fault }: StoredProjection): void {
    const isMended = this.fault !== null && fault === null && version === this.projection.version
    if (this.#isActive) return isMended ? this.recheck() : undefined
    this.#writer.storedPosition = position
    this.fault = fault
    return this.#notifyWaiters()
  }

  /** It will be closed: from here on it does not wait for a database that is away. */
  beginClose(): void {
    this.#isClosing = true
    this.#batchPause.cutShort()
  }

  /** Writes what waits if the database is there, stores the position and stops. */
  async close(): Promise<void> {
    this.beginClose()
    while (this.#running !== null) await this.#running
    const isKept = this.#isActive && this.fault === null && !this.#hasDoubts
    this.#isActive = false
    if (isKept && comparePositions(this.position, this.#writer.storedPosition) > 0) {
      await this.#writer
        .storePosition(this.position, this.#delivered.lastEvent)
        .catch((error: unknown) => {
          // Events that are none of its facts are passed over once more.
          this.#ports.warn(`the position of ${this.projection.name} could not be stored`, error)
        })
    }
    this.waiters.cancelAll()
  }

  get #hasDoubts(): boolean {
    return this.#doubts > this.#clearedDoubts
  }

  /** Whether all facts handed over are written. */
  get #isFullyWritten(): boolean {
    return comparePositions(this.#delivered.lastFact, this.#writer.storedPosition) <= 0
  }

  get #hasWork(): boolean {
    if (!this.#isActive || this.fault !== null) return false
    // Who closes leaves to the next what is to be read again.
    if (this.#hasDoubts || this.#lacksIndexes) return !this.#isClosing
    return this.#pending.count > 0 || this.#delivered.eventsSinceLastFact >= STORE_POSITION_EVERY
  }

  /** Whether it has caught up, and an index that only lists use may be missing. */
  get #lacksIndexes(): boolean {
    return !this.#writer.isIndexed && this.#delivered.hasCaughtUp(this.#writer.storedPosition)
  }

  #notifyWaiters(): void {
    if (this.fault !== null) return this.waiters.cancelAll()
    return this.waiters.resolveReached((place) => this.hasWritten(place))
  }

  #wake(): void {
    if (this.#running !== null || !this.#hasWork) return
    this.#running = this.#work().finally(() => {
      this.#running = null
      this.#wake()
    })
  }

  async #work(): Promise<void> {
    let retryMs = FIRST_RETRY_MS
    while (this.#hasWork) {
      try {
        if (this.#hasDoubts) await this.#catchUp()
        else if (this.#lacksIndexes) await this.#writer.ensureIndexes()
        else if (this.#canPause) await this.#batchPause.wait()
        else if (this.#pending.count > 0) await this.#writePending()
        else await this.#storePosition()
        retryMs = FIRST_RETRY_MS
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
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
      }
      this.#notifyWaiters()
    }
  }

  /** Looks at what is stored, and writes what was handed over beyond it, read anew from the store. */
  async #catchUp(): Promise<void> {
    const { name, version } = this.projection
    const doubts = this.#doubts
    const row = await this.#writer.readStored()
    if (row.version !== version) {
      return this.#halt("another version of this program keeps it up", null)
    }
    if (comparePositions(row.position, this.#writer.storedPosition) < 0) {
      this.#ports.warn(`read model ${name} was set back, and goes on from there`, null)
    }
    this.#writer.storedPosition = row.position
    // What comes from here on waits behind what is read here.
    this.#pending.clear()
    const places = { after: row.position, until: this.#delivered.deliveredUpTo }
    const missing = readMissingFacts(this.#ports.store, this.projection, places)
    for await (const batch of this.#isFullyWritten ? [] : missing) {
      if (!this.#isActive || this.#isClosing) return undefined
      if (!(await this.#write(batch))) return undefined
      this.#notifyWaiters()
    }
    this.#clearedDoubts = doubts
    return undefined
  }

  /** Whether the next batch may gather for a while: nobody waits, and it is not full. */
  get #canPause(): boolean {
    if (!this.waiters.isEmpty || this.#isClosing) return false
    return !this.#pending.isFull && this.#batchPause.remainingMs > 0
  }

  async #writePending(): Promise<void> {
    if (await this.#write(this.#pending.batch))
      this.#pending.removeUpTo(this.#writer.storedPosition)
  }

  async #storePosition(): Promise<void> {
    this.#delivered.eventsSinceLastFact = 0
    if (!(await this.#writer.storePosition(this.position, this.#delivered.lastEvent)))
      this.#doubts += 1
  }

  /** Writes a batch; false where it is not to go on from there. */
  async #write(batch: readonly StoredEvent[]): Promise<boolean> {
    this.#batchPause.begin()
    const written = await this.#writer.writeInParts(batch)
    if (written instanceof FoldFault) {
      await this.#stopAtFault(written)
      return false
    }
    if (!written) this.#doubts += 1
    return written
  }

  /** A fact that cannot be taken: the updater stands still before it and says which it was. */
  async #stopAtFault({ message: fault, cause }: FoldFault): Promise<void> {
    await this.#writer.storeFault(fault).catch((lost: unknown) => {
      this.#ports.warn(`why ${this.projection.name} stopped could not be stored`, lost)
    })
    this.#halt(fault, cause)
  }

  #halt(fault: string, error: unknown): void {
    this.fault = fault
    this.#pending.clear()
    this.#ports.warn(`read model ${this.projection.name} stopped at ${fault}`, error)
    this.waiters.cancelAll()
  }
}

/** Facts that come without a break are gathered until the next beat, so that many share one transaction. */
export const BATCH_INTERVAL_MS = 100

/** The next beat of a process, which all who rest wait for together: their batches begin together. */
export class BatchTicker {
  readonly #pacer: Pacer
  readonly #intervalMs: number
  #next: { readonly atMs: number; readonly waitForTick: Promise<void> } | null = null

  constructor(pacer: Pacer, everyMs: number) {
    this.#pacer = pacer
    this.#intervalMs = everyMs
  }

  /** When the first beat after a moment is. */
  nextTickAfter(ms: number): number {
    return (Math.floor(ms / this.#intervalMs) + 1) * this.#intervalMs
  }

  /** Resolves at a beat. */
  waitForTick(atMs: number): Promise<void> {
    if (this.#next?.atMs !== atMs) {
      const leftMs = Math.max(0, atMs - this.#pacer.elapsedMs())
      this.#next = { atMs, waitForTick: this.#pacer.pause(leftMs) }
    }
    return this.#next.waitForTick
  }
}

/** The rest between two batches of a read model: until the first beat after the former began. */
class BatchPause {
  readonly #pacer: Pacer
  readonly #beat: BatchTicker
  #until = -Infinity
  #cut: PromiseWithResolvers<void> | null = null

  constructor(pacer: Pacer, beat: BatchTicker) {
    this.#pacer = pacer
    this.#beat = beat
  }

  /** How long it still is, in milliseconds; 0 where it is over. */
  get remainingMs(): number {
    return Math.max(0, this.#until - this.#pacer.elapsedMs())
  }

  /** A batch begins. */
  begin(): void {
    this.#until = this.#beat.nextTickAfter(this.#pacer.elapsedMs())
  }

  /** Resolves when it is over, or cut short. A timer may be early by a moment: it is over all the same. */
  async wait(): Promise<void> {
    this.#cut = Promise.withResolvers()
    await Promise.race([this.#beat.waitForTick(this.#until), this.#cut.promise])
    this.#cut = null
    this.#until = -Infinity
  }

  /** Whoever rests goes on at once. */
  cutShort(): void {
    this.#cut?.resolve()
  }
}
