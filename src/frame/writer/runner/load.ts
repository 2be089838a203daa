/** Loads a stream's state: its checkpoint, if it belongs to this history, then the facts after it. */
import type { Checkpoint, Checkpoints } from "../../../../adapters/postgres/checkpoints/port.ts"
import type { EventStore, Position, StoredEvent } from "../../../../adapters/eventstore/port.ts"
import {
  CorruptStream,
  NO_STREAM,
  isDeletionMark,
  formatRevision,
} from "../../../../adapters/eventstore/port.ts"
import type { CheckpointFormat, Decider, Fact } from "../../../../domain/kernel/decider.ts"
import type { Codec } from "../../../../domain/kernel/event-format.ts"
import {
  hasHash,
  decodeStored,
  NO_HASH,
  expectedHash,
  hashOfMetadata,
} from "../../kernel/envelope.ts"

export interface LoadedState<S> {
  state: S
  /** Revision of the last fact folded; `NO_STREAM` if there is none. */
  revision: number
  /** Hash of that fact. */
  hash: string
  /** Time of the last fact, UTC milliseconds; 0 if there is none. */
  at: number
  /** Position of the last fact in the global order; null if there is none. */
  position: Position | null
  /** The facts after the last checkpoint, which every load must fold. */
  readonly sinceCheckpoint: { facts: number; bytes: number }
}

/** The parts of an aggregate that loading needs. */
export interface Foldable<S, E extends Fact> {
  // The command and refusal types play no part in folding.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly decider: Decider<any, S, E, any>
  readonly codec: Codec<E>
  readonly checkpoint?: CheckpointFormat<S>
}

/**
 * Loads a stream's state and checks the hash chain: it starts at revision 0 or right after the checkpoint, has
 * no gap, and each fact's hash covers the fact before it. A checkpoint does not replace missing events: the event
 * it was made after must still exist, and in a store that can hide events so must the stream's first event.
 *
 * @throws Unavailable if the store cannot be read; CorruptStream if events are missing or changed
 */
export async function loadStream<S, E extends Fact>(
  ports: { readonly store: EventStore; readonly checkpoints: Checkpoints },
  aggregate: Foldable<S, E>,
  stream: string,
): Promise<LoadedState<S>> {
  const form = aggregate.checkpoint
  const checkpoint = form === undefined ? null : await ports.checkpoints.load(stream)
  if (form !== undefined && checkpoint !== null && checkpoint.format === form.version) {
    const [loaded] = await Promise.all([
      foldFrom(ports.store, aggregate, stream, form, checkpoint),
      verifyBeginning(ports.store, stream, checkpoint),
    ])
    if (loaded !== null) return loaded
  }
  const fresh = initialState(aggregate)
  for await (const page of ports.store.read(stream)) foldEvents(aggregate, fresh, page)
  if (checkpoint === null || checkpoint.revision <= fresh.revision) return fresh
  const expected = "the last fact of its checkpoint"
  const found = `nothing after revision ${fresh.revision}`
  throw new CorruptStream({ stream, revision: checkpoint.revision, expected, found })
}

/** The state of a stream before its first fact. */
export function initialState<S, E extends Fact>({ decider }: Foldable<S, E>): LoadedState<S> {
  const sinceCheckpoint = { facts: 0, bytes: 0 }
  return { state: decider.initial(), ...CHAIN_START, at: 0, position: null, sinceCheckpoint }
}

/** Checks the stream's first event in a store that can hide events. A checkpoint at revision 0 includes it. */
async function verifyBeginning(
  store: EventStore,
  stream: string,
  { revision }: Checkpoint,
): Promise<void> {
  if (store.canHideEvents !== true || revision === 0) return
  for await (const [first] of store.read(stream, { limit: 1 })) {
    if (first !== undefined) nextHash(first, CHAIN_START)
  }
}

/**
 * Folds the facts that the store has beyond a state. It reads from the state's last fact on, because a store
 * that lost this fact cannot prove that nothing followed it.
 *
 * @throws Unavailable if the store cannot be read; CorruptStream if its events do not continue the state
 */
export async function foldNewEvents<S, E extends Fact>(
  store: EventStore,
  aggregate: Foldable<S, E>,
  loaded: LoadedState<S>,
  stream: string,
): Promise<void> {
  const { revision, hash } = loaded
  let isThere = revision === CHAIN_START.revision
  for await (const page of store.read(stream, { from: Math.max(revision, 0) })) {
    const [first] = page
    const wasThere = isThere
    if (!wasThere) {
      isThere = first?.revision === revision && hasHash(first.metadata, hash)
      if (!isThere) break
    }
    foldEvents(aggregate, loaded, wasThere ? page : page.slice(1))
  }
  if (isThere) return
  const expected = `the fact that was stored there, with the hash ${hash}`
  throw new CorruptStream({ stream, revision, expected, found: "another, or none" })
}

/** Folds the facts after a checkpoint; null if it belongs to another history or cannot be read. */
async function foldFrom<S, E extends Fact>(
  store: EventStore,
  aggregate: Foldable<S, E>,
  stream: string,
  form: CheckpointFormat<S>,
  checkpoint: Checkpoint,
): Promise<LoadedState<S> | null> {
  let loaded: LoadedState<S> | null = null
  for await (const page of store.read(stream, { from: checkpoint.revision })) {
    if (loaded !== null) {
      foldEvents(aggregate, loaded, page)
      continue
    }
    const first = page[0]
    if (first?.revision !== checkpoint.revision || !hasHash(first.metadata, checkpoint.hash))
      return null
    const { at } = decodeStored(aggregate.codec, first)
    const { revision, hash } = checkpoint
    const sinceCheckpoint = { facts: 0, bytes: 0 }
    const from = stateIn(form, checkpoint.state)
    if (from === null) return null
    const { state } = from
    loaded = { state, revision, hash, at, position: first.position, sinceCheckpoint }
    foldEvents(aggregate, loaded, page.slice(1))
  }
  return loaded
}

/** The saved state; null if it cannot be read. The audit reports such a checkpoint. */
function stateIn<S>(form: CheckpointFormat<S>, saved: unknown): { readonly state: S } | null {
  try {
    return { state: form.load(saved) }
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return null
    throw error
  }
}

/** Folds the next events of a stream. @throws CorruptStream if they do not continue it */
export function foldEvents<S, E extends Fact>(
  aggregate: Foldable<S, E>,
  loaded: LoadedState<S>,
  events: readonly StoredEvent[],
): void {
  for (const stored of events) {
    const hash = nextHash(stored, loaded)
    const event = decodeStored(aggregate.codec, stored)
    loaded.state = aggregate.decider.evolve(loaded.state, event)
    loaded.revision = stored.revision
    loaded.hash = hash
    loaded.at = Math.max(loaded.at, event.at)
    countSinceCheckpoint(loaded, stored)
  }
  loaded.position = events.at(-1)?.position ?? loaded.position
}

/** Counts an event after the checkpoint. */
export function countSinceCheckpoint(
  { sinceCheckpoint }: LoadedState<unknown>,
  { data }: { readonly data: string },
): void {
  sinceCheckpoint.facts += 1
  sinceCheckpoint.bytes += data.length
}

/** How far a chain was followed: the last revision and its hash. */
export interface ChainEnd {
  readonly revision: number
  readonly hash: string
}

/** The end of a chain before its first event. */
export const CHAIN_START: ChainEnd = { revision: NO_STREAM, hash: NO_HASH }

/**
 * Returns the hash of the next event of a chain.
 *
 * @throws CorruptStream if it is not the next one: an event before it is missing, or it was changed
 */
export function nextHash(event: Omit<StoredEvent, "position">, end: ChainEnd): string {
  const { stream, revision, metadata } = event
  if (revision !== end.revision + 1) {
    const expected = `revision ${end.revision + 1}`
    const found = `revision ${formatRevision(revision)}`
    // The deletion mark comes after the stream's end, and its revision does not fit a number.
    const at = isDeletionMark(event) ? end.revision + 1 : revision
    throw new CorruptStream({ stream, revision: at, expected, found })
  }
  const expected = expectedHash(event, end.hash)
  if (hasHash(metadata, expected)) return expected
  const carried = hashOfMetadata(metadata)
  const found = carried === null ? "none" : `the hash ${carried}`
  throw new CorruptStream({ stream, revision, expected: `the hash ${expected}`, found })
}
