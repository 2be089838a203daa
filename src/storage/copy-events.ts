/**
 * Copies events into a store that is empty or has the first of them: in global order, with their bytes, ids
 * and revisions. A repeated copy continues where the last one stopped.
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
 * Limits of concurrent appends: as much as the store inside PostgreSQL appends in one transaction, so that a
 * batch is stored completely or not at all.
 */
const MAX_BATCH_EVENTS = 1_000

const MAX_BATCH_APPENDS = 200

const MAX_BATCH_BYTES = 1024 * 1024

/** Limit of one append, unless a single event is larger. */
const APPEND_EVENTS = 500

const APPEND_BYTES = 512 * 1024

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
 * Appends that can run concurrently and keep their order: each has its own stream. Adjacent events of a
 * stream share an append.
 */
class AppendBatch {
  readonly #appends: OpenAppend[] = []
  readonly #streams = new Set<string>()
  #events = 0
  #bytes = 0

  get appends(): readonly ReadyAppend[] {
    return this.#appends
  }

  /** Adds an event; false if it belongs to the next batch. */
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

/** Time until the copy gives up on a store that does not answer, milliseconds. */
const GIVE_UP_AFTER_MS = 60_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

/** Source, target and callbacks of a copy. */
export interface CopyOptions<E extends PortableEvent> {
  readonly source: AsyncIterable<readonly E[]>
  readonly target: EventStore
  readonly pacer: Pacer
  /** Aborted to stop between two appends. */
  readonly signal: AbortSignal
  /** Called for each event before it is copied; its errors end the copy. */
  readonly onEvent: (event: E, index: number) => void
  /** Once-only projections; each has its own checkpoint. */
  readonly onceProjections: readonly string[]
  /** Whether a projection has not handled an event yet; then it has not handled later ones either. */
  readonly isUnhandled: (hint: string, event: E, index: number) => boolean
  readonly progress: (events: number) => void
}

interface CopyResult {
  readonly events: number
  /** Number of events that the target already had. */
  readonly found: number
  /** For each projection, the target's position of the last handled event. */
  readonly handled: ReadonlyMap<string, Position>
}

/**
 * Copies events. No other process may write to the target meanwhile.
 *
 * @throws StoresDiffer if the target has other events
 * @throws Unavailable, UnknownOutcome if the target did not answer for a minute; AccessDenied, TooLarge
 * @throws the signal's reason, and the errors of the source and `onEvent`
 */
export async function copyEvents<E extends PortableEvent>(
  copying: CopyOptions<E>,
): Promise<CopyResult> {
  const { source, target, signal, onEvent, onceProjections, isUnhandled, progress } = copying
  const existing = flattenPages(target.readAll())
  const stream = new TargetWriter(copying)
  let hasExisting = true
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
      const next = hasExisting ? await existing.next() : null
      if (next?.done === false) {
        checkSameEvent(event, next.value)
        stream.last = next.value.position
        found += 1
      } else {
        hasExisting = false
        await stream.add(event)
      }
      index += 1
      progress(index)
    }
    await checkEnd(hasExisting ? existing : null)
    const last = await stream.flush()
    for (const hint of onceProjections) if (!handled.has(hint)) handled.set(hint, last)
    return { events: index, found, handled }
  } finally {
    await existing.return(undefined)
  }
}

/** Checks that the target has no further events. @throws StoresDiffer */
async function checkEnd(existing: AsyncGenerator<PortableEvent> | null): Promise<void> {
  const next = await existing?.next()
  if (next === undefined || next.done === true) return
  throw new StoresDiffer(`it has ${describeEvent(next.value)}, which the source lacks`)
}

/** Writes to the target, some appends concurrently, in order. */
class TargetWriter {
  readonly #copying: Pick<CopyOptions<never>, "target" | "pacer" | "signal">
  #window = new AppendBatch()
  /** Position of the last event in the target. */
  last: Position = START

  constructor(copying: Pick<CopyOptions<never>, "target" | "pacer" | "signal">) {
    this.#copying = copying
  }

  async add(event: PortableEvent): Promise<void> {
    if (this.#window.add(event)) return
    await this.flush()
    this.#window.add(event)
  }

  /** Stores the waiting events; returns the position of the last one. */
  async flush(): Promise<Position> {
    const { appends } = this.#window
    this.#window = new AppendBatch()
    if (appends.length === 0) return this.last
    this.#copying.signal.throwIfAborted()
    for (const position of await this.#store(appends)) {
      // If one of many appends failed, the store may have stored later ones before it.
      if (comparePositions(position, this.last) <= 0) {
        throw new StoresDiffer("it stored events in another order: empty it and start again")
      }
      this.last = position
    }
    return this.last
  }

  /** Appends concurrently, and after a failure one by one; a repeated append is stored once. */
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
        const positions: Position[] = []
        for (const one of appends) positions.push(await append(one))
        return positions
      } catch (error) {
        throwUnlessTransient(error)
        if (pacer.elapsedMs() > until) throw error
      }
    }
  }
}

/** Returns for an error that a retry may fix. @throws StoresDiffer, or the error itself */
function throwUnlessTransient(error: unknown): void {
  if (error instanceof WrongRevision) {
    throw new StoresDiffer(`another process writes to it (${error.message})`, { cause: error })
  }
  if (error instanceof Unavailable || error instanceof UnknownOutcome) return
  throw error
}

function hasRoom({ events, bytes }: OpenAppend, more: number): boolean {
  return events.length < APPEND_EVENTS && bytes + more <= APPEND_BYTES
}

/** Two stores have different events; the message names the first difference. */
export class StoresDiffer extends Error {
  override readonly name = "StoresDiffer"
}

/** Checks that two events are identical, byte for byte. @throws StoresDiffer */
function checkSameEvent(source: PortableEvent, target: PortableEvent): void {
  const fields = ["stream", "revision", "id", "type", "data", "metadata"] as const
  const differing = fields.find((field) => source[field] !== target[field])
  if (differing === undefined) return
  const expected = describeEvent(source)
  const found = describeEvent(target)
  throw new StoresDiffer(
    expected === found
      ? `${expected} has another ${differing} in the target`
      : `the target has ${found} in place of ${expected}`,
  )
}

function describeEvent({ stream, revision }: PortableEvent): string {
  return `${stream} revision ${formatRevision(revision)}`
}

/** Single events from pages. */
async function* flattenPages<E>(pages: AsyncIterable<readonly E[]>): AsyncGenerator<E> {
  for await (const page of pages) yield* page
}

/**
 * Checks that two stores have the same events in the same global order, and so the same streams. Returns the
 * number of events.
 *
 * @throws StoresDiffer, and read errors
 */
export async function compareStores(
  source: AsyncIterable<readonly PortableEvent[]>,
  target: AsyncIterable<readonly PortableEvent[]>,
  onEvent: (events: number) => void,
): Promise<number> {
  const targetEvents = flattenPages(target)
  let events = 0
  try {
    for await (const event of flattenPages(source)) {
      const next = await targetEvents.next()
      if (next.done === true) {
        throw new StoresDiffer(`${describeEvent(event)} is missing in the target`)
      }
      checkSameEvent(event, next.value)
      events += 1
      onEvent(events)
    }
    const next = await targetEvents.next()
    if (next.done !== true) {
      throw new StoresDiffer(`${describeEvent(next.value)} is in the target, but not in the source`)
    }
    return events
  } finally {
    await targetEvents.return(undefined)
  }
}
