/**
 * Keeps one read model up to date. With its lease, facts are queued here and written in batches; a fact that fails
 * stops this read model only. Without the lease the updater writes nothing and tracks the stored position.
 *
 * Whenever the stored position may differ from the expected one (after a takeover, a batch with an unknown
 * outcome, a rebuild, or a crash that lost commits), it reads the table and the missing facts again.
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

class DeliveredFacts {
  readonly #projection: Projection
  /** Everything up to here was delivered. */
  deliveredUpTo: Position
  /** The read model's last fact that was delivered, or written before. */
  lastFact: Position
  /** Its last fact that was stored at the start; null until all of them were delivered. */
  #lastInitialFact: Position | null = null
  lastEvent: StoredEvent | null = null
  eventsSinceLastFact = 0

  constructor(projection: Projection, stored: Position) {
    this.#projection = projection
    this.deliveredUpTo = stored
    this.lastFact = stored
  }

  /** Records events in global order; returns the facts among them that are new. */
  addNew(events: readonly StoredEvent[]): StoredEvent[] {
    const newEvents = events.filter(
      (event) => comparePositions(event.position, this.deliveredUpTo) > 0,
    )
    const facts = factsOf(this.#projection, newEvents)
    this.lastEvent = newEvents.at(-1) ?? this.lastEvent
    this.deliveredUpTo = newEvents.at(-1)?.position ?? this.deliveredUpTo
    this.lastFact = facts.at(-1)?.position ?? this.lastFact
    this.eventsSinceLastFact = facts.length > 0 ? 0 : this.eventsSinceLastFact + newEvents.length
    return facts
  }

  noteCaughtUp(head: Position): void {
    this.deliveredUpTo = laterPosition(this.deliveredUpTo, head)
    this.#lastInitialFact ??= this.lastFact
  }

  /** Whether all of its facts from before the start are written, if `written` is its position. */
  hasCaughtUp(written: Position): boolean {
    return this.#lastInitialFact !== null && comparePositions(this.#lastInitialFact, written) <= 0
  }
}

const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 1_000
/** After this many events without a fact, a position is stored without rows. */
const STORE_POSITION_EVERY = 2_000

export interface UpdaterPorts extends WriterPorts {
  readonly store: EventStore
  readonly pacer: Pacer
  /** Facts between two ticks are written together, unless a caller waits. */
  readonly batchTicker: BatchTicker
  readonly warn: (message: string, error: unknown) => void
}

/** Keeps one read model up to date. */
export class ReadModelUpdater {
  readonly projection: Projection
  /** Why it stopped, here or in the process that writes it. */
  fault: string | null = null
  readonly #ports: UpdaterPorts
  readonly #writer: ReadModelWriter
  /** Callers that wait for a position: facts up to it are written immediately. */
  readonly waiters: PositionWaiters
  readonly #batchPause: BatchPause
  #isActive = false
  /** Counts events that make the stored position uncertain, and how many were resolved by reading the table. */
  #doubts = 0
  #clearedDoubts = 0
  #isClosing = false
  #running: Promise<void> | null = null
  /** Empty without the lease. */
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

  get isActive(): boolean {
    return this.#isActive
  }

  /** Whether this process writes it and has received all facts in its rows. */
  get isInSync(): boolean {
    return this.#isActive && !this.#hasDoubts
  }

  /** Facts delivered and not yet written, and how long the oldest has waited, in milliseconds. */
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

  /** Whether all its facts up to a position are written. */
  hasWritten(position: Position): boolean {
    // Without their indexes, lists would be slow.
    if (this.#isActive && !this.#writer.isIndexed) return false
    if (comparePositions(position, this.position) <= 0) return true
    if (comparePositions(position, this.#delivered.deliveredUpTo) > 0) return false
    // Everything before the first queued fact is written.
    const next = this.#hasDoubts ? undefined : this.#pending.first
    return next !== undefined && comparePositions(position, next.position) < 0
  }

  /** Delivers events in global order; those delivered before are skipped. */
  deliver(events: readonly StoredEvent[]): void {
    const facts = this.#delivered.addNew(events)
    if (this.#isActive && this.fault === null) {
      this.#pending.add(facts, this.#writer.storedPosition, this.#ports.pacer.elapsedMs())
    }
    if (this.#pending.isFull) this.#batchPause.cutShort()
    this.#wake()
    this.#notifyWaiters()
  }

  noteCaughtUp(head: Position): void {
    this.#delivered.noteCaughtUp(head)
    this.#wake()
    this.#notifyWaiters()
  }

  /** Resolves when at most `maxPending` facts are queued, or none are being written. */
  async waitForRoom(maxPending: number): Promise<void> {
    while (this.#pending.count > maxPending && this.#running !== null) await this.#running
  }

  activate(): void {
    this.#isActive = true
    this.recheck()
  }

  /** This process lost the lease; a write in progress may still succeed. */
  deactivate(): void {
    this.#isActive = false
    this.#pending.clear()
    this.#batchPause.cutShort()
  }

  /** Reads the stored position again, and restarts a stopped read model. */
  recheck(): void {
    this.fault = null
    this.#doubts += 1
    this.#batchPause.cutShort()
    this.#wake()
  }

  /** Records the stored state from another process's writes or an operator's repair. */
  noteStored({ position, version, fault }: StoredProjection): void {
    const isRepaired = this.fault !== null && fault === null && version === this.projection.version
    if (this.#isActive) return isRepaired ? this.recheck() : undefined
    this.#writer.storedPosition = position
    this.fault = fault
    return this.#notifyWaiters()
  }

  /** The updater will be closed: from now on it does not wait for an unavailable database. */
  beginClose(): void {
    this.#isClosing = true
    this.#batchPause.cutShort()
  }

  /** Writes queued facts if the database is available, stores the position and stops. */
  async close(): Promise<void> {
    this.beginClose()
    while (this.#running !== null) await this.#running
    const mustStorePosition = this.#isActive && this.fault === null && !this.#hasDoubts
    this.#isActive = false
    if (mustStorePosition && comparePositions(this.position, this.#writer.storedPosition) > 0) {
      await this.#writer
        .storePosition(this.position, this.#delivered.lastEvent)
        .catch((error: unknown) => {
          // The next process skips events again that are not its facts.
          this.#ports.warn(
            `could not store the position of read model ${this.projection.name}`,
            error,
          )
        })
    }
    this.waiters.cancelAll()
  }

  get #hasDoubts(): boolean {
    return this.#doubts > this.#clearedDoubts
  }

  get #isFullyWritten(): boolean {
    return comparePositions(this.#delivered.lastFact, this.#writer.storedPosition) <= 0
  }

  get #hasWork(): boolean {
    if (!this.#isActive || this.fault !== null) return false
    // When closing, rereading is left to the next process.
    if (this.#hasDoubts || this.#lacksIndexes) return !this.#isClosing
    return this.#pending.count > 0 || this.#delivered.eventsSinceLastFact >= STORE_POSITION_EVERY
  }

  get #lacksIndexes(): boolean {
    return !this.#writer.isIndexed && this.#delivered.hasCaughtUp(this.#writer.storedPosition)
  }

  #notifyWaiters(): void {
    if (this.fault !== null) return this.waiters.cancelAll()
    return this.waiters.resolveReached((position) => this.hasWritten(position))
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
        // The outcome of the write is unknown.
        this.#doubts += 1
        if (this.#isClosing) return
        await this.#ports.pacer.pause(retryMs)
        retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)
      }
      this.#notifyWaiters()
    }
  }

  /** Reads the stored position, and writes delivered facts after it, read again from the store. */
  async #catchUp(): Promise<void> {
    const { name, version } = this.projection
    const doubts = this.#doubts
    const row = await this.#writer.readStored()
    if (row.version !== version) {
      return this.#halt("another version of this program writes it", null)
    }
    if (comparePositions(row.position, this.#writer.storedPosition) < 0) {
      this.#ports.warn(
        `the position of read model ${name} moved back; it continues from there`,
        null,
      )
    }
    this.#writer.storedPosition = row.position
    // Facts delivered from now on are queued after those read here.
    this.#pending.clear()
    const range = { after: row.position, until: this.#delivered.deliveredUpTo }
    const missing = readMissingFacts(this.#ports.store, this.projection, range)
    for await (const batch of this.#isFullyWritten ? [] : missing) {
      if (!this.#isActive || this.#isClosing) return undefined
      if (!(await this.#write(batch))) return undefined
      this.#notifyWaiters()
    }
    this.#clearedDoubts = doubts
    return undefined
  }

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

  /** Writes a batch; false if the updater must not continue after it. */
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

  async #stopAtFault({ message: fault, cause }: FoldFault): Promise<void> {
    await this.#writer.storeFault(fault).catch((lost: unknown) => {
      this.#ports.warn(
        `could not store the fault that stopped read model ${this.projection.name}`,
        lost,
      )
    })
    this.#halt(fault, cause)
  }

  #halt(fault: string, error: unknown): void {
    this.fault = fault
    this.#pending.clear()
    this.#ports.warn(`read model ${this.projection.name} stopped: ${fault}`, error)
    this.waiters.cancelAll()
  }
}

/** Facts are collected until the next tick, so that many share one transaction. */
export const BATCH_INTERVAL_MS = 100

/** Ticks for the updaters of a process, so that their batches begin together. */
export class BatchTicker {
  readonly #pacer: Pacer
  readonly #intervalMs: number
  #next: { readonly atMs: number; readonly waitForTick: Promise<void> } | null = null

  constructor(pacer: Pacer, intervalMs: number) {
    this.#pacer = pacer
    this.#intervalMs = intervalMs
  }

  nextTickAfter(ms: number): number {
    return (Math.floor(ms / this.#intervalMs) + 1) * this.#intervalMs
  }

  waitForTick(atMs: number): Promise<void> {
    if (this.#next?.atMs !== atMs) {
      const leftMs = Math.max(0, atMs - this.#pacer.elapsedMs())
      this.#next = { atMs, waitForTick: this.#pacer.pause(leftMs) }
    }
    return this.#next.waitForTick
  }
}

/** The pause between two batches of a read model: until the first tick after the previous one began. */
class BatchPause {
  readonly #pacer: Pacer
  readonly #ticker: BatchTicker
  #until = -Infinity
  #cut: PromiseWithResolvers<void> | null = null

  constructor(pacer: Pacer, ticker: BatchTicker) {
    this.#pacer = pacer
    this.#ticker = ticker
  }

  /** How long it lasts, in milliseconds; 0 if it is over. */
  get remainingMs(): number {
    return Math.max(0, this.#until - this.#pacer.elapsedMs())
  }

  begin(): void {
    this.#until = this.#ticker.nextTickAfter(this.#pacer.elapsedMs())
  }

  /** Resolves when it is over or cut short, even if the timer fired slightly early. */
  async wait(): Promise<void> {
    this.#cut = Promise.withResolvers()
    await Promise.race([this.#ticker.waitForTick(this.#until), this.#cut.promise])
    this.#cut = null
    this.#until = -Infinity
  }

  cutShort(): void {
    this.#cut?.resolve()
  }
}
