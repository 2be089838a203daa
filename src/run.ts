/**
 * One stream, one writer, many callers: load, decide, append.
 *
 * Callers of a stream wait in its queue. While one append is in flight the next batch gathers; each
 * command is decided against the state including those before it in its batch; one append stores
 * all their facts at the exact revision; each caller gets its own answer once the store said yes.
 *
 * - Nobody is told yes before the store said yes. A no that was decided behind an unstored yes of
 *   its batch waits for it.
 * - A batch that met another writer's facts is decided again from the store's truth.
 * - An append whose outcome is unknown is sent again with the same bytes, then resolved by reading;
 *   only past its callers' deadlines are they told that nobody knows.
 */
import type { Checkpoints } from "../adapters/checkpoints/port.ts"
import type { Clock, Pacer } from "../adapters/clock/port.ts"
import type { EventStore, Position, ProposedEvent } from "../adapters/eventstore/port.ts"
import { Unavailable, UnknownOutcome, WrongRevision } from "../adapters/eventstore/port.ts"
import type { CheckpointForm, Decider, Fact, Stamped } from "../domain/kernel/decider.ts"
import { isRefusal } from "../domain/kernel/decider.ts"
import type { Codec } from "../domain/kernel/format.ts"
import type { Cause } from "./envelope.ts"
import { wrap } from "./envelope.ts"
import { loadStream } from "./load.ts"
import type { Loaded } from "./load.ts"

/** A decider together with the form its facts are stored in. */
export interface Aggregate<C, S, E extends Fact, R extends Fact> {
  readonly decider: Decider<C, S, E, R>
  readonly codec: Codec<E>
  /** How its state is kept beside the stream; without it a load folds from the start. */
  readonly checkpoint?: CheckpointForm<S>
}

/** What a command came to. */
export type Outcome<E, R, V> =
  | {
      readonly accepted: true
      /** Empty where the command was already so. */
      readonly facts: readonly E[]
      readonly view: V
      /** The place of the stream's last fact; null where the stream is empty. */
      readonly position: Position | null
    }
  | { readonly accepted: false; readonly refusal: R; readonly view: V }

/** How a command is to be carried out. */
export interface Execution<S, V> {
  readonly cause: Cause
  /** How long the caller waits, milliseconds; default `DEFAULT_DEADLINE_MS`. */
  readonly deadlineMs?: number
  /** What to see of the state right after this command, before any other. */
  readonly view: (state: S, at: number) => V
}

/** How long a caller waits for an answer unless it says otherwise. */
export const DEFAULT_DEADLINE_MS = 8_000

/** More callers than this may not wait for one stream: the next is turned away. */
const MAX_WAITING = 20_000
const MAX_BATCH_EVENTS = 500
const MAX_BATCH_BYTES = 512 * 1024
const CHECKPOINT_EVENTS = 200
const MAX_STREAMS_KEPT = 20_000
const RETRY_FIRST_MS = 20
const RETRY_MOST_MS = 1_000

/** Too many callers wait for this stream; nothing was decided. */
export class Overloaded extends Error {
  override readonly name = "Overloaded"
}

/** The deadline passed before anything was decided; nothing was stored. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed"
}

/** The deadline passed and nobody knows whether the facts are stored: ask again, or look them up. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown"
}

/** Carries out commands, one batch a stream at a time. */
export interface Runner {
  /**
   * Decides a command and stores its facts.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable: nothing was stored
   * @throws OutcomeUnknown: it may have been stored
   */
  readonly execute: <C, S, E extends Fact, R extends Fact, V = undefined>(
    aggregate: Aggregate<C, S, E, R>,
    stream: string,
    command: C,
    execution: Execution<S, V>,
  ) => Promise<Outcome<E, R, V>>
  /**
   * Looks at a state as the store has it; facts that are not acknowledged yet are waited for.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly look: <C, S, E extends Fact, R extends Fact, V>(
    aggregate: Aggregate<C, S, E, R>,
    stream: string,
    view: (state: S, at: number) => V,
  ) => Promise<V>
  /**
   * Looks at a state at once if it is in memory, facts not yet acknowledged included: good enough
   * to let a caller pass, never to turn one away.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly glance: <C, S, E extends Fact, R extends Fact, V>(
    aggregate: Aggregate<C, S, E, R>,
    stream: string,
    view: (state: S, at: number) => V,
  ) => Promise<V>
  /** Waits for everything in flight, then keeps the checkpoints that are due. */
  readonly close: () => Promise<void>
}

/** What the runner works with. */
export interface RunnerPorts {
  readonly store: EventStore
  readonly checkpoints: Checkpoints
  readonly clock: Clock
  readonly pacer: Pacer
  /** Told of what went wrong without a caller to tell: a checkpoint that could not be kept. */
  readonly warn: (message: string, error: unknown) => void
}

// A queue holds commands of one aggregate only; the types meet again where it is opened.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnyAggregate = Aggregate<any, any, any, any>
type AnyOutcome = Outcome<Fact, Fact, unknown>

interface Waiting {
  /** Null for a caller who only looks. */
  readonly command: { readonly given: object; readonly cause: Cause } | null
  readonly view: (state: unknown, at: number) => unknown
  /** By the pacer's elapsed time. */
  readonly deadline: number
  readonly resolve: (outcome: AnyOutcome) => void
  readonly reject: (error: unknown) => void
}

interface Lane {
  readonly stream: string
  readonly aggregate: AnyAggregate
  loaded: Loaded<unknown> | null
  readonly queue: Waiting[]
  /** The work in flight; null when idle. */
  busy: Promise<void> | null
  /** The checkpoint being kept. */
  saving: Promise<void>
  factsSinceCheckpoint: number
  bytesSinceCheckpoint: number
  checkpointBytes: number
}

interface Batch {
  readonly events: ProposedEvent[]
  readonly hash: string
  readonly answers: { readonly waiting: Waiting; readonly outcome: AnyOutcome }[]
}

/** Opens the runner. One per process. */
export function openRunner(ports: RunnerPorts): Runner {
  const lanes = new Map<string, Lane>()

  function laneOf(aggregate: AnyAggregate, stream: string): Lane {
    const known = lanes.get(stream)
    if (known !== undefined) {
      // Moving it to the end keeps the map in order of use, so the first is the one to let go.
      lanes.delete(stream)
      lanes.set(stream, known)
      return known
    }
    const lane: Lane = {
      stream,
      aggregate,
      loaded: null,
      queue: [],
      busy: null,
      saving: Promise.resolve(),
      factsSinceCheckpoint: 0,
      bytesSinceCheckpoint: 0,
      checkpointBytes: 0,
    }
    lanes.set(stream, lane)
    if (lanes.size > MAX_STREAMS_KEPT) letGo(lanes)
    return lane
  }

  function wake(lane: Lane): Promise<void> {
    lane.busy ??= Promise.resolve()
      .then(() => drain(ports, lane))
      .finally(() => {
        lane.busy = null
        if (lane.queue.length > 0) void wake(lane)
      })
    return lane.busy
  }

  function enqueue(lane: Lane, waiting: Omit<Waiting, "resolve" | "reject">): Promise<AnyOutcome> {
    if (lane.queue.length >= MAX_WAITING) {
      const message = `${lane.queue.length} callers wait for ${lane.stream}`
      return Promise.reject(new Overloaded(message))
    }
    return new Promise((resolve, reject) => {
      lane.queue.push({ ...waiting, resolve, reject })
      void wake(lane)
    })
  }

  async function look(lane: Lane, view: Waiting["view"]): Promise<unknown> {
    const { loaded } = lane
    if (lane.busy === null && loaded !== null) {
      return view(loaded.state, Math.max(ports.clock.now(), loaded.at))
    }
    const deadline = ports.pacer.elapsedMs() + DEFAULT_DEADLINE_MS
    return (await enqueue(lane, { command: null, view, deadline })).view
  }

  return {
    execute: (aggregate, stream, command, execution) => {
      const lane = laneOf(aggregate, stream)
      const deadline = ports.pacer.elapsedMs() + (execution.deadlineMs ?? DEFAULT_DEADLINE_MS)
      const given = { given: command as object, cause: execution.cause }
      const view = execution.view as Waiting["view"]
      return enqueue(lane, { command: given, view, deadline }) as Promise<never>
    },
    look: (aggregate, stream, view) =>
      look(laneOf(aggregate, stream), view as Waiting["view"]) as Promise<never>,
    glance: (aggregate, stream, view) => {
      const lane = laneOf(aggregate, stream)
      if (lane.loaded === null) return look(lane, view as Waiting["view"]) as Promise<never>
      const { state, at } = lane.loaded
      return Promise.resolve(view(state as never, Math.max(ports.clock.now(), at)))
    },
    close: async () => {
      for (const lane of lanes.values()) {
        while (lane.busy !== null) await lane.busy
        keepCheckpoint(ports, lane, 1)
        await lane.saving
      }
    },
  }
}

/** Lets the longest unused idle streams go, a tenth at a time. */
function letGo(lanes: Map<string, Lane>): void {
  let left = MAX_STREAMS_KEPT / 10
  for (const [stream, lane] of lanes) {
    if (left <= 0) return
    if (lane.busy !== null || lane.queue.length > 0) continue
    lanes.delete(stream)
    left -= 1
  }
}

async function drain(ports: RunnerPorts, lane: Lane): Promise<void> {
  let retryMs = RETRY_FIRST_MS
  while (lane.queue.length > 0) {
    turnAwayLate(ports, lane)
    try {
      lane.loaded ??= (await loadStream(ports, lane.aggregate, lane.stream)) as Loaded<unknown>
    } catch (error) {
      if (!(error instanceof Unavailable)) return failAll(lane, lane.queue.splice(0), error)
      await ports.pacer.pause(retryMs)
      retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
      continue
    }
    const batch = gather(ports, lane, lane.loaded)
    if (batch.events.length === 0) {
      answer(lane, batch)
      continue
    }
    const stored = await store(ports, lane, lane.loaded, batch)
    if (stored) retryMs = RETRY_FIRST_MS
    else await ports.pacer.pause(retryMs)
    keepCheckpoint(ports, lane, CHECKPOINT_EVENTS)
  }
}

function turnAwayLate(ports: RunnerPorts, lane: Lane): void {
  const now = ports.pacer.elapsedMs()
  if (!lane.queue.some((waiting) => waiting.deadline <= now)) return
  const onTime = lane.queue.filter((waiting) => waiting.deadline > now)
  const late = lane.queue.filter((waiting) => waiting.deadline <= now)
  lane.queue.splice(0, lane.queue.length, ...onTime)
  for (const waiting of late) waiting.reject(new DeadlinePassed(`${lane.stream} took too long`))
}

/** Decides commands one after the other until the batch is full. */
function gather(ports: RunnerPorts, lane: Lane, loaded: Loaded<unknown>): Batch {
  const batch: Batch & { hash: string } = { events: [], hash: loaded.hash, answers: [] }
  let bytes = 0
  while (lane.queue.length > 0) {
    if (batch.events.length >= MAX_BATCH_EVENTS || bytes >= MAX_BATCH_BYTES) break
    const waiting = lane.queue.shift() as Waiting
    try {
      bytes += decideOne(ports, lane, loaded, batch, waiting)
    } catch (error) {
      waiting.reject(error)
    }
  }
  return batch
}

/** Decides one command and adds its facts to the batch; answers the bytes they take. */
function decideOne(
  ports: RunnerPorts,
  lane: Lane,
  loaded: Loaded<unknown>,
  batch: Batch & { hash: string },
  waiting: Waiting,
): number {
  const { decider, codec } = lane.aggregate
  const at = Math.max(ports.clock.now(), loaded.at)
  if (waiting.command === null) {
    const view = waiting.view(loaded.state, at)
    batch.answers.push({ waiting, outcome: { accepted: true, facts: [], view, position: null } })
    return 0
  }
  const { given, cause } = waiting.command
  const decided = decider.decide({ ...given, at } as object & Stamped, loaded.state) as
    readonly Fact[] | Fact
  if (isRefusal(decided)) {
    const view = waiting.view(loaded.state, at)
    batch.answers.push({ waiting, outcome: { accepted: false, refusal: decided, view } })
    return 0
  }
  // All facts are written down before any is folded: a fact that has no stored form spoils nothing.
  const first = loaded.revision + 1
  let { hash } = batch
  const wrapped = decided.map((fact, i) => {
    const place = { stream: lane.stream, revision: first + i, previousHash: hash }
    const one = wrap(codec, fact, place, cause)
    hash = one.hash
    return one.proposed
  })
  for (const fact of decided) {
    loaded.state = decider.evolve(loaded.state, fact)
    loaded.at = Math.max(loaded.at, fact.at)
  }
  loaded.revision += decided.length
  batch.hash = hash
  batch.events.push(...wrapped)
  const outcome = { accepted: true as const, facts: decided, view: waiting.view(loaded.state, at) }
  batch.answers.push({ waiting, outcome: { ...outcome, position: null } })
  return wrapped.reduce((sum, event) => sum + event.data.length + event.metadata.length, 0)
}

/** Stores a batch and answers its callers; false where the store asks for patience. */
async function store(
  ports: RunnerPorts,
  lane: Lane,
  loaded: Loaded<unknown>,
  batch: Batch,
): Promise<boolean> {
  const expected = loaded.revision - batch.events.length
  try {
    const appended = await appendSurely(ports, lane, batch, expected)
    loaded.hash = batch.hash
    loaded.position = appended
    lane.factsSinceCheckpoint += batch.events.length
    for (const { data } of batch.events) lane.bytesSinceCheckpoint += data.length
    answer(lane, batch)
    return true
  } catch (error) {
    // The state holds facts that are not stored: it is thrown away, and the store is asked again.
    lane.loaded = null
    const waiting = batch.answers.map((one) => one.waiting)
    if (error instanceof WrongRevision || error instanceof Unavailable) {
      lane.queue.unshift(...waiting)
      return error instanceof WrongRevision
    }
    failAll(lane, waiting, error)
    return true
  }
}

/** Appends; an unknown outcome is resolved with the same bytes, then by reading. */
async function appendSurely(
  ports: RunnerPorts,
  lane: Lane,
  batch: Batch,
  expected: number,
): Promise<Position> {
  const { events } = batch
  const deadline = Math.max(...batch.answers.map((one) => one.waiting.deadline))
  let inDoubt = false
  let retryMs = RETRY_FIRST_MS
  for (;;) {
    try {
      return (await ports.store.append(lane.stream, events, expected)).position
    } catch (error) {
      if (error instanceof WrongRevision && inDoubt) {
        const position = await findStored(ports, lane.stream, events, expected)
        if (position !== null) return position
      }
      inDoubt ||= error instanceof UnknownOutcome
      const mayPass = error instanceof UnknownOutcome || (error instanceof Unavailable && inDoubt)
      if (!mayPass) throw error
      if (ports.pacer.elapsedMs() >= deadline) {
        throw new OutcomeUnknown(`nobody knows whether ${lane.stream} took it`, { cause: error })
      }
      await ports.pacer.pause(retryMs)
      retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
    }
  }
}

/** Where the last of these events is stored, if they are. */
async function findStored(
  ports: RunnerPorts,
  stream: string,
  events: readonly ProposedEvent[],
  expected: number,
): Promise<Position | null> {
  const range = { from: expected + 1, limit: events.length }
  const found: { id: string; position: Position }[] = []
  for await (const page of ports.store.read(stream, range)) found.push(...page)
  const same = events.every((event, i) => found[i]?.id === event.id)
  return same ? (found.at(-1)?.position ?? null) : null
}

function answer(lane: Lane, batch: Batch): void {
  const position = lane.loaded?.position ?? null
  for (const { waiting, outcome } of batch.answers) {
    waiting.resolve(outcome.accepted ? { ...outcome, position } : outcome)
  }
}

function failAll(lane: Lane, waiting: readonly Waiting[], error: unknown): void {
  lane.loaded = null
  for (const { reject } of waiting) reject(error)
}

/** Keeps a checkpoint once enough facts came since the last: their number, or twice its own bytes. */
function keepCheckpoint(ports: RunnerPorts, lane: Lane, least: number): void {
  const form = lane.aggregate.checkpoint
  if (form === undefined || lane.loaded === null) return
  if (lane.factsSinceCheckpoint < least) return
  if (least > 1 && lane.bytesSinceCheckpoint < 2 * lane.checkpointBytes) return
  const { revision, hash } = lane.loaded
  const saved = form.save(lane.loaded.state) as unknown
  lane.factsSinceCheckpoint = 0
  lane.bytesSinceCheckpoint = 0
  lane.checkpointBytes = JSON.stringify(saved).length
  // Written behind the append path: no caller waits for a cache.
  const checkpoint = { revision, hash, shape: form.shape, saved }
  lane.saving = lane.saving
    .then(() => ports.checkpoints.save(lane.stream, checkpoint))
    .catch((error: unknown) => {
      ports.warn(`no checkpoint was kept for ${lane.stream}`, error)
    })
}
