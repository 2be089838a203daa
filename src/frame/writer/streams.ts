/** The kinds of streams of a program, as its slices bring them, and what their names and events say. */
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

/** A kind of stream: the rules of its category. */
type StreamKind = { readonly [K in StreamCategory]: StreamKindOf<K> }[StreamCategory]

/** The kinds of streams that a slice brings. */
export interface StreamKinds {
  /** Each company has its own. */
  readonly perCompany?: readonly StreamKind[]
  /** One for all: it belongs to no company. */
  readonly perInstallation?: readonly AggregateStream<StreamKind>[]
}

/** A decider whose states are kept as checkpoints. */
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

/** What is known of a program's streams. */
export interface Streams {
  /** Every kind there is, those of companies first. */
  readonly kinds: readonly StreamKind[]
  /** The streams that belong to no company. */
  readonly perInstallation: readonly InstallationStream[]
  /** A stored event as read models take it. @throws FormatFault, EnvelopeFault where it is none */
  readonly toRecorded: (stored: UnpositionedEvent) => ProjectedFact
  /**
   * Why a stored event is no fact of its stream; null where it is one, or can be one of a newer version of
   * this program, which knows other types and forms.
   */
  readonly faultOf: (stored: UnpositionedEvent) => string | null
  /** The codec of a stream's facts. @throws FormatFault where no decider has such streams */
  readonly codecOf: (stream: string) => Codec<AnyFact>
  /** How the streams of a category are folded and kept; null for those without checkpoints. */
  readonly checkpointedDecider: (category: string) => CheckpointedDecider | null
  /** The categories in which facts of these types stand, and what else stands there. */
  readonly categoriesOf: (types: ReadonlySet<string>) => FactSelection
  /** The beginnings of the names of all streams that a company can have. */
  readonly prefixesOf: (companyId: CompanyId) => readonly string[]
  /** The beginnings of the names of all streams that are the program's. */
  readonly prefixes: readonly string[]
  /** Whether a stream is the program's, by its name. */
  readonly isOwn: (stream: string) => boolean
}

/** How the ids of companies begin. */
const COMPANY_ID = "co_"

/** Puts together what the slices bring. @throws RangeError where two bring the same category */
export function combineStreams(brought: readonly StreamKinds[]): Streams {
  const ofCompanies = brought.flatMap((one) => one.perCompany ?? [])
  const ofInstallation = brought.flatMap((one) => one.perInstallation ?? [])
  const kinds = [...ofCompanies, ...ofInstallation.map(({ aggregate }) => aggregate)]
  const byCategory = new Map<string, StreamKind>()
  for (const kind of kinds) {
    if (byCategory.has(kind.category)) {
      throw new RangeError(`two slices bring streams ${kind.category}`)
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

/** The rules of a kind by which its streams are folded; only its slice knows the type of its states. */
function foldable({ decider, codec, checkpoint }: StreamKind): Foldable<unknown, AnyFact> {
  const rules = {
    decider: decider as Foldable<unknown, AnyFact>["decider"],
    codec: codec as Codec<AnyFact>,
  }
  return checkpoint === undefined
    ? rules
    : { ...rules, checkpoint: checkpoint as CheckpointFormat<unknown> }
}

/** @throws FormatFault where no decider has such streams */
function codecIn(byCategory: ReadonlyMap<string, StreamKind>, stream: string): Codec<AnyFact> {
  const kind = byCategory.get(categoryOf(stream))
  if (kind === undefined) throw new FormatFault(`no decider has a stream ${stream}`)
  return kind.codec as Codec<AnyFact>
}

/** How much of a type that another program chose is repeated. */
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
      return `${named} whose data has another form`
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

// Which streams of an event store are the ledger's. A server may hold those of other programs: they are
// no business of ours, and nothing is made of them, written to a backup or moved.

/**
 * A store as if it held nothing but the ledger's streams. Its head is that of all of them.
 *
 * @param isShared whether others may keep much in it, so that it is better not even sent
 */
export function onlyOwnStreams(store: EventStore, streams: Streams, isShared: boolean): EventStore {
  const own = isShared ? { prefixes: streams.prefixes } : {}
  const isOwn = ({ stream }: StoredEvent): boolean => streams.isOwn(stream)
  const ownOf: KeepOwnEvents = (events) => (events.every(isOwn) ? events : events.filter(isOwn))
  return {
    ...store,
    readAll: async function* ({ limit = Infinity, ...range } = {}) {
      let left = limit
      // A prefix lets some pass that are none of ours: they must not count as what was asked for.
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

/** Those events that are ours. */
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

function takeFirst(most: number, events: readonly StoredEvent[]): readonly StoredEvent[] {
  return events.length > most ? events.slice(0, most) : events
}

/** Streams of other programs, counted. */
export interface ForeignStreams {
  readonly streams: number
  readonly events: number
  /** How many events each has, of those that were met first. */
  readonly byName: Readonly<Record<string, number>>
}

/** So many streams of others are counted by name; of the rest, only how many events they have. */
const MAX_NAMED = 100

/** Counts what is not ours. */
export class ForeignStreamCounter {
  readonly #byName = new Map<string, number>()
  readonly #streams = new Set<string>()
  #events = 0

  /** Counts an event of somebody else. */
  count({ stream }: Pick<StoredEvent, "stream">): void {
    this.#events += 1
    this.#streams.add(stream)
    const known = this.#byName.get(stream)
    if (known === undefined && this.#byName.size >= MAX_NAMED) return
    this.#byName.set(stream, (known ?? 0) + 1)
  }

  /** What was counted. */
  get totals(): ForeignStreams {
    const byName = Object.fromEntries(this.#byName)
    return { streams: this.#streams.size, events: this.#events, byName }
  }
}
