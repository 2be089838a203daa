/** The stream kinds of all slices: their names, codecs and rules. */
import type { StoredEvent, EventStore, Subscriber } from "../../../adapters/eventstore/port.ts"
import type { CheckpointFormat, Fact } from "../../../domain/kernel/decider.ts"
import type { AggregateStream } from "../../../domain/kernel/aggregate.ts"
import { categoryOf, companyOfStream } from "../../../domain/kernel/aggregate.ts"
import type { AnyFact, StreamCategory, FactsByCategory } from "../../../domain/kernel/facts.ts"
import type { Codec } from "../../../domain/kernel/event-format.ts"
import { FormatFault } from "../../../domain/kernel/event-format.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { FactSelection, ProjectedFact } from "../../../projections/kernel/projection.ts"
import { EnvelopeFault, readMetadata } from "../kernel/envelope.ts"
import type { Foldable } from "./runner/load.ts"

interface StreamKindOf<K extends StreamCategory> {
  readonly category: K
  readonly codec: Codec<FactsByCategory[K]>
  readonly decider: unknown
  readonly checkpoint?: unknown
}

type StreamKind = { readonly [K in StreamCategory]: StreamKindOf<K> }[StreamCategory]

export interface StreamKinds {
  readonly perCompany?: readonly StreamKind[]
  /** Streams that belong to no company. */
  readonly perInstallation?: readonly AggregateStream<StreamKind>[]
}

export interface CheckpointedDecider {
  readonly decider: {
    readonly initial: () => unknown
    readonly evolve: (state: unknown, fact: Fact) => unknown
  }
  readonly checkpoint: CheckpointFormat<unknown>
}

/** A stream that belongs to no company, with its rules. */
interface InstallationStream {
  readonly stream: string
  readonly aggregate: Foldable<unknown, AnyFact>
}

/** A stored event without its position in the global order. */
export type UnpositionedEvent = Omit<StoredEvent, "position">

export interface Streams {
  /** All kinds, those of companies first. */
  readonly kinds: readonly StreamKind[]
  /** The streams that belong to no company. */
  readonly perInstallation: readonly InstallationStream[]
  /** A stored event for read models. @throws FormatFault, EnvelopeFault if it is not a fact */
  readonly toRecorded: (stored: UnpositionedEvent) => ProjectedFact
  /**
   * Why a stored event is not a fact of its stream. Null if it is one, or may be one of a newer version of the
   * program, which has other types and versions.
   */
  readonly faultOf: (stored: UnpositionedEvent) => string | null
  /** The codec of a stream's facts. @throws FormatFault if no decider has such streams */
  readonly codecOf: (stream: string) => Codec<AnyFact>
  /** The decider of a category's streams; null if it has no checkpoints. */
  readonly checkpointedDecider: (category: string) => CheckpointedDecider | null
  /** The categories that have facts of these types, and the other types of these categories. */
  readonly categoriesOf: (types: ReadonlySet<string>) => FactSelection
  /** Name prefixes of all streams that a company can have. */
  readonly prefixesOf: (companyId: CompanyId) => readonly string[]
  /** Name prefixes of all streams of the program. */
  readonly prefixes: readonly string[]
  /** Whether a stream belongs to the program, by its name. */
  readonly isOwn: (stream: string) => boolean
}

/** Prefix of company ids. */
const COMPANY_ID = "co_"

/** Combines the streams of all slices. @throws RangeError if two slices have the same category */
export function combineStreams(slices: readonly StreamKinds[]): Streams {
  const ofCompanies = slices.flatMap((one) => one.perCompany ?? [])
  const ofInstallation = slices.flatMap((one) => one.perInstallation ?? [])
  const kinds = [...ofCompanies, ...ofInstallation.map(({ aggregate }) => aggregate)]
  const byCategory = new Map<string, StreamKind>()
  for (const kind of kinds) {
    if (byCategory.has(kind.category)) {
      throw new RangeError(`two slices declare the stream category ${kind.category}`)
    }
    byCategory.set(kind.category, kind)
  }
  const installation = new Set(ofInstallation.map(({ stream }) => stream))
  const company = new Set<string>(ofCompanies.map(({ category }) => category))
  const codecOf = (stream: string) => codecIn(byCategory, stream)
  return {
    kinds,
    perInstallation: ofInstallation.map(({ stream, aggregate }) => ({
      stream,
      aggregate: foldable(aggregate),
    })),
    codecOf,
    toRecorded: (stored) => recordedBy(codecOf(stored.stream), stored),
    faultOf: (stored) => faultBy(codecOf(stored.stream), stored),
    checkpointedDecider: (category) => {
      const kind = byCategory.get(category)
      return kind?.checkpoint === undefined ? null : (kind as CheckpointedDecider)
    },
    categoriesOf: (types) => categoriesIn(kinds, types),
    prefixesOf: (companyId) => [...company].map((category) => `${category}-${companyId}`),
    prefixes: [...installation, ...[...company].map((category) => `${category}-${COMPANY_ID}`)],
    isOwn: (stream) =>
      installation.has(stream) ||
      (company.has(categoryOf(stream)) && companyOfStream(stream)?.startsWith(COMPANY_ID) === true),
  }
}

/** The parts of a kind that fold its streams; only its slice knows the type of its states. */
function foldable({ decider, codec, checkpoint }: StreamKind): Foldable<unknown, AnyFact> {
  const rules = {
    decider: decider as Foldable<unknown, AnyFact>["decider"],
    codec: codec as Codec<AnyFact>,
  }
  return checkpoint === undefined
    ? rules
    : { ...rules, checkpoint: checkpoint as CheckpointFormat<unknown> }
}

/** @throws FormatFault if no decider has such streams */
function codecIn(byCategory: ReadonlyMap<string, StreamKind>, stream: string): Codec<AnyFact> {
  const kind = byCategory.get(categoryOf(stream))
  if (kind === undefined) throw new FormatFault(`no decider has a stream ${stream}`)
  return kind.codec as Codec<AnyFact>
}

/** Maximum length of another program's event type in a message. */
const TYPE_SHOWN = 60

function faultBy(codec: Codec<AnyFact>, stored: UnpositionedEvent): string | null {
  const { type, metadata } = stored
  const named = `an event of type "${type.slice(0, TYPE_SHOWN)}"`
  let version: number
  try {
    ;({ version } = readMetadata(metadata))
  } catch (error) {
    if (!(error instanceof EnvelopeFault)) throw error
    return `${named} that this program did not write`
  }
  const known = codec.types.find((one) => one === type)
  if (known === undefined || version > codec.version(known)) return null
  try {
    codec.decode(type, version, stored.data)
    return null
  } catch (error) {
    // A lift meets fields that are not there with a TypeError.
    if (error instanceof FormatFault || error instanceof TypeError) {
      return `${named} whose data is malformed`
    }
    throw error
  }
}

function recordedBy(
  codec: Codec<AnyFact>,
  { stream, revision, ...stored }: UnpositionedEvent,
): ProjectedFact {
  const { keyId, personId, actor, trace, version } = readMetadata(stored.metadata)
  const recorded = {
    stream,
    revision,
    keyId,
    personId,
    actor,
    category: categoryOf(stream),
    companyId: companyOfStream(stream),
    fact: codec.decode(stored.type, version, stored.data),
  }
  return trace === undefined ? recorded : { ...recorded, trace }
}

function categoriesIn(kinds: readonly StreamKind[], types: ReadonlySet<string>): FactSelection {
  const found = kinds.filter(({ codec }) => codec.types.some((type) => types.has(type)))
  const all = found.flatMap(({ codec }): readonly string[] => codec.types)
  return {
    categories: found.map(({ category }) => category),
    ignoredTypes: all.filter((type) => !types.has(type)),
  }
}

// An event store may also hold streams of other programs. The ledger does not project, back up or migrate them.

/**
 * Returns a view of a store with only the ledger's streams. Its head is that of the whole store.
 *
 * @param isShared whether other programs may have many events there; the store then filters them by prefix
 */
export function onlyOwnStreams(store: EventStore, streams: Streams, isShared: boolean): EventStore {
  const own = isShared ? { prefixes: streams.prefixes } : {}
  const isOwn = ({ stream }: StoredEvent): boolean => streams.isOwn(stream)
  const ownOf: KeepOwnEvents = (events) => (events.every(isOwn) ? events : events.filter(isOwn))
  return {
    ...store,
    readAll: async function* ({ limit = Infinity, ...range } = {}) {
      let left = limit
      // Streams of other programs may match a prefix; they must not count toward the limit.
      for await (const page of store.readAll({ ...own, ...range })) {
        const wanted = takeFirst(left, ownOf(page))
        left -= wanted.length
        if (wanted.length > 0) yield wanted
        if (left === 0) return
      }
    },
    subscribeAll: (range, subscriber) =>
      store.subscribeAll(range, ownEventsSubscriber(subscriber, ownOf)),
  }
}

/** Selects the ledger's events. */
type KeepOwnEvents = (events: readonly StoredEvent[]) => readonly StoredEvent[]

function ownEventsSubscriber(subscriber: Subscriber, ownOf: KeepOwnEvents): Subscriber {
  return {
    ...subscriber,
    onEvents: async (events) => {
      const own = ownOf(events)
      if (own.length > 0) await subscriber.onEvents(own)
    },
  }
}

function takeFirst(maxEvents: number, events: readonly StoredEvent[]): readonly StoredEvent[] {
  return events.length > maxEvents ? events.slice(0, maxEvents) : events
}

/** Counts of other programs' streams and events. */
export interface ForeignStreams {
  readonly streams: number
  readonly events: number
  /** Number of events by stream, for the first 100 streams. */
  readonly byName: Readonly<Record<string, number>>
}

/** Maximum number of streams counted by name; the others count only in the totals. */
const MAX_NAMED = 100

/** Counts the streams and events of other programs. */
export class ForeignStreamCounter {
  readonly #byName = new Map<string, number>()
  readonly #streams = new Set<string>()
  #events = 0

  /** Counts an event of another program. */
  count({ stream }: Pick<StoredEvent, "stream">): void {
    this.#events += 1
    this.#streams.add(stream)
    const known = this.#byName.get(stream)
    if (known === undefined && this.#byName.size >= MAX_NAMED) return
    this.#byName.set(stream, (known ?? 0) + 1)
  }

  get totals(): ForeignStreams {
    const byName = Object.fromEntries(this.#byName)
    return { streams: this.#streams.size, events: this.#events, byName }
  }
}
