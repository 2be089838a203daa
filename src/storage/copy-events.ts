/**
 * Copying events into a store that is empty, or holds the first of them already: in global order,
 * with their bytes, ids and revisions. Copied again it goes on where it stopped.
 */
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import type { EventStore, Position, ProposedEvent } from "../../adapters/eventstore/port.ts"
import {
  START,
  Unavailable,
  UnknownOutcome,
  WrongRevision,
  comparePositions,
  formatRevision,
} from "../../adapters/eventstore/port.ts"
import type { PortableEvent } from "./write-backup.ts"

/**
 * What is under way at once: what the store inside PostgreSQL takes in one transaction, so that all of
 * it is stored or nothing.
 */
const MAX_BATCH_EVENTS = 1_000

const MAX_BATCH_APPENDS = 200

const MAX_BATCH_BYTES = 1024 * 1024

/** What one append takes, unless a single event is larger. */
const APPEND_EVENTS = 500

const APPEND_BYTES = 512 * 1024

/** Events of one stream to be appended together. */
interface ReadyAppend {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expectedRevision: number
}

interface OpenAppend extends ReadyAppend {
  readonly events: ProposedEvent[]
  bytes: number
}

/**
 * Appends that can be sent at once and keep their order: each to a stream of its own. Neighbours of
 * one stream share an append.
 */
class AppendBatch {
  readonly #appends: OpenAppend[] = []
  readonly #streams = new Set<string>()
  #events = 0
  #bytes = 0

  /** What is to be sent, in order. */
  get appends(): readonly ReadyAppend[] {
    return this.#appends
  }

  /** Takes an event; false where it belongs into the next window. */
  add({ stream, revision, id, type, data, metadata }: PortableEvent): boolean {
    const event = { id, type, data, metadata }
    const bytes = Buffer.byteLength(data) + Buffer.byteLength(metadata) + 2 * type.length
    const isFull = this.#events >= MAX_BATCH_EVENTS || this.#bytes + bytes > MAX_BATCH_BYTES
    if (this.#events > 0 && isFull) return false
    const open = this.#appends.at(-1)
    if (open?.stream === stream && hasRoom(open, bytes)) {
      open.events.push(event)
      open.bytes += bytes
    } else {
      if (this.#streams.has(stream) || this.#appends.length >= MAX_BATCH_APPENDS) return false
      this.#appends.push({ stream, events: [event], expectedRevision: revision - 1, bytes })
      this.#streams.add(stream)
    }
    this.#events += 1
    this.#bytes += bytes
    return true
  }
}

/** A store that does not answer is given up after so long, milliseconds. */
const GIVE_UP_AFTER_MS = 60_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

/** What is copied, and where. */
export interface CopyOptions<E extends PortableEvent> {
  readonly source: AsyncIterable<readonly E[]>
  readonly target: EventStore
  readonly pacer: Pacer
  /** Aborted to stop between two appends. */
  readonly signal: AbortSignal
  /** Sees each event before it is copied; what it throws ends it. */
  readonly onEvent: (event: E, index: number) => void
  /** The projections that are written once: each has its own place. */
  readonly onceProjections: readonly string[]
  /** Whether what follows from an event by one of them has not been written yet; then from no later one either. */
  readonly isUnhandled: (hint: string, event: E, index: number) => boolean
  readonly progress: (events: number) => void
}

/** What was copied. */
interface CopyResult {
  readonly events: number
  /** So many of them were there already. */
  readonly found: number
  /** By each hint, the place in the target behind the last event that is handled. */
  readonly handled: ReadonlyMap<string, Position>
}

/**
 * Copies events. Nobody else may write to the target meanwhile.
 *
 * @throws StoresDiffer where the target holds anything but the first of these events
 * @throws Unavailable, UnknownOutcome when the target was lost for a minute; AccessDenied, TooLarge
 * @throws the signal's reason, and what the source and `onEvent` throw
 */
export async function copyEvents<E extends PortableEvent>(
  copying: CopyOptions<E>,
): Promise<CopyResult> {
  const { source, target, signal, onEvent, onceProjections, isUnhandled, progress } = copying
  const there = flattenPages(target.readAll())
  const stream = new TargetWriter(copying)
  let isThere = true
  let index = 0
  let found = 0
  const handled = new Map<string, Position>()
  try {
    for await (const event of flattenPages(source)) {
      signal.throwIfAborted()
      onEvent(event, index)
      for (const hint of onceProjections) {
        if (handled.has(hint) || !isUnhandled(hint, event, index)) continue
        handled.set(hint, await stream.flush())
      }
      const next = isThere ? await there.next() : null
      if (next?.done === false) {
        checkSameEvent(event, next.value)
        stream.last = next.value.position
        found += 1
      } else {
        isThere = false
        await stream.add(event)
      }
      index += 1
      progress(index)
    }
    await checkEnd(isThere ? there : null)
    const last = await stream.flush()
    for (const hint of onceProjections) if (!handled.has(hint)) handled.set(hint, last)
    return { events: index, found, handled }
  } finally {
    await there.return(undefined)
  }
}

/** Sees that nothing follows what was copied. @throws StoresDiffer */
async function checkEnd(there: AsyncGenerator<PortableEvent> | null): Promise<void> {
  const next = await there?.next()
  if (next === undefined || next.done === true) return
  throw new StoresDiffer(`it holds ${describeEvent(next.value)} beside them`)
}

/** What flows into the target: some appends at a time, in order. */
class TargetWriter {
  readonly #copying: Pick<CopyOptions<never>, "target" | "pacer" | "signal">
  #window = new AppendBatch()
  /** The place of the last event in the target. */
  last: Position = START

  constructor(copying: Pick<CopyOptions<never>, "target" | "pacer" | "signal">) {
    this.#copying = copying
  }

  async add(event: PortableEvent): Promise<void> {
    if (this.#window.add(event)) return
    await this.flush()
    this.#window.add(event)
  }

  /** Stores what waits; answers the place of the last event. */
  async flush(): Promise<Position> {
    const { appends } = this.#window
    this.#window = new AppendBatch()
    if (appends.length === 0) return this.last
    this.#copying.signal.throwIfAborted()
    for (const place of await this.#store(appends)) {
      // Where one append of many failed, the store may have taken those behind it before it.
      if (comparePositions(place, this.last) <= 0) {
        throw new StoresDiffer("it has taken events in another order: empty it and begin again")
      }
      this.last = place
    }
    return this.last
  }

  /** All at once, and after a failure one after the other; the same again is stored once. */
  async #store(appends: readonly ReadyAppend[]): Promise<readonly Position[]> {
    const { target, pacer, signal } = this.#copying
    const append = async ({ stream, events, expectedRevision }: ReadyAppend): Promise<Position> =>
      (await target.append(stream, events, expectedRevision)).position
    const first = await Promise.allSettled(appends.map(append))
    const failed = first.find((one) => one.status === "rejected")
    if (failed === undefined) return first.flatMap((one) => ("value" in one ? [one.value] : []))
    throwUnlessTransient(failed.reason)
    const until = pacer.elapsedMs() + GIVE_UP_AFTER_MS
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      await pacer.pause(pauseMs, signal)
      signal.throwIfAborted()
      try {
        const places: Position[] = []
        for (const one of appends) places.push(await append(one))
        return places
      } catch (error) {
        throwUnlessTransient(error)
        if (pacer.elapsedMs() > until) throw error
      }
    }
  }
}

/** Lets an error pass that may be gone the next time. @throws StoresDiffer, or the error itself */
function throwUnlessTransient(error: unknown): void {
  if (error instanceof WrongRevision) {
    throw new StoresDiffer(`somebody else writes to it (${error.message})`, { cause: error })
  }
  if (error instanceof Unavailable || error instanceof UnknownOutcome) return
  throw error
}

function hasRoom({ events, bytes }: OpenAppend, more: number): boolean {
  return events.length < APPEND_EVENTS && bytes + more <= APPEND_BYTES
}

/** Two stores do not hold the same. The message names the place. */
export class StoresDiffer extends Error {
  override readonly name = "StoresDiffer"
}

/** Sees that two events are one and the same, byte for byte. @throws StoresDiffer */
function checkSameEvent(source: PortableEvent, target: PortableEvent): void {
  const fields = ["stream", "revision", "id", "type", "data", "metadata"] as const
  const differing = fields.find((field) => source[field] !== target[field])
  if (differing === undefined) return
  const place = describeEvent(source)
  const there = describeEvent(target)
  throw new StoresDiffer(
    place === there
      ? `${place} has another ${differing} there`
      : `where ${place} should stand is ${there}`,
  )
}

/** The place of an event in its stream, for messages. */
function describeEvent({ stream, revision }: PortableEvent): string {
  return `${stream} revision ${formatRevision(revision)}`
}

/** Events one by one, from pages of them. */
async function* flattenPages<E>(pages: AsyncIterable<readonly E[]>): AsyncGenerator<E> {
  for await (const page of pages) yield* page
}

/**
 * Sees that two stores hold the same events in the same global order, and so the same streams with the
 * same heads. Answers how many.
 *
 * @throws StoresDiffer, and what reading throws
 */
export async function compareStores(
  source: AsyncIterable<readonly PortableEvent[]>,
  target: AsyncIterable<readonly PortableEvent[]>,
  onEvent: (events: number) => void,
): Promise<number> {
  const there = flattenPages(target)
  let events = 0
  try {
    for await (const event of flattenPages(source)) {
      const next = await there.next()
      if (next.done === true) {
        throw new StoresDiffer(`${describeEvent(event)} is missing there`)
      }
      checkSameEvent(event, next.value)
      events += 1
      onEvent(events)
    }
    const next = await there.next()
    if (next.done !== true) {
      throw new StoresDiffer(`${describeEvent(next.value)} is there and was never copied`)
    }
    return events
  } finally {
    await there.return(undefined)
  }
}
