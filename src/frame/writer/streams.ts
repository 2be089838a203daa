/** The kinds of streams of a program, as its slices bring them, and what their names and events say. */
import type { StoredEvent } from "../../../adapters/eventstore/port.ts"
import type { CheckpointForm, Fact } from "../../../domain/kernel/decider.ts"
import type { StreamOf } from "../../../domain/kernel/aggregate.ts"
import { categoryOf, companyOf } from "../../../domain/kernel/aggregate.ts"
import type { AnyFact, Category, FactsByCategory } from "../../../domain/kernel/facts.ts"
import type { Codec } from "../../../domain/kernel/format.ts"
import { FormatFault } from "../../../domain/kernel/format.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { FactsRead, Recorded } from "../../../projections/kernel/projection.ts"
import { EnvelopeFault, readMetadata } from "../kernel/envelope.ts"
import type { Foldable } from "./runner/load.ts"

interface KindOf<K extends Category> {
  readonly category: K
  readonly codec: Codec<FactsByCategory[K]>
  readonly decider: unknown
  readonly checkpoint?: unknown
}

/** A kind of stream: the rules of its category. */
export type StreamKind = { readonly [K in Category]: KindOf<K> }[Category]

/** The kinds of streams that a slice brings. */
export interface StreamKinds {
  /** Each company has its own. */
  readonly ofCompanies?: readonly StreamKind[]
  /** One for all: it belongs to no company. */
  readonly ofInstallation?: readonly StreamOf<StreamKind>[]
}

/** A decider whose states are kept as checkpoints. */
export interface Folded {
  readonly decider: {
    readonly initial: () => unknown
    readonly evolve: (state: unknown, fact: Fact) => unknown
  }
  readonly checkpoint: CheckpointForm<unknown>
}

/** A stream that belongs to no company, with its rules. */
export interface InstallationStream {
  readonly stream: string
  readonly aggregate: Foldable<unknown, AnyFact>
}

/** A stored event without its position in the global order. */
export type Unplaced = Omit<StoredEvent, "position">

/** What is known of a program's streams. */
export interface Streams {
  /** Every kind there is, those of companies first. */
  readonly kinds: readonly StreamKind[]
  /** The streams that belong to no company. */
  readonly ofInstallation: readonly InstallationStream[]
  /** A stored event as read models take it. @throws FormatFault, EnvelopeFault where it is none */
  readonly recorded: (stored: Unplaced) => Recorded
  /**
   * Why a stored event is no fact of its stream; null where it is one, or can be one of a newer version of
   * this program, which knows other types and forms.
   */
  readonly faultIn: (stored: Unplaced) => string | null
  /** The codec of a stream's facts. @throws FormatFault where no decider has such streams */
  readonly codecOf: (stream: string) => Codec<AnyFact>
  /** How the streams of a category are folded and kept; null for those without checkpoints. */
  readonly folded: (category: string) => Folded | null
  /** The categories in which facts of these types stand, and what else stands there. */
  readonly categoriesOf: (types: ReadonlySet<string>) => FactsRead
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
export function streamsOf(brought: readonly StreamKinds[]): Streams {
  const ofCompanies = brought.flatMap((one) => one.ofCompanies ?? [])
  const ofInstallation = brought.flatMap((one) => one.ofInstallation ?? [])
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
    ofInstallation: ofInstallation.map(({ stream, aggregate }) => ({
      stream,
      aggregate: foldable(aggregate),
    })),
    codecOf,
    recorded: (stored) => recordedBy(codecOf(stored.stream), stored),
    faultIn: (stored) => faultBy(codecOf(stored.stream), stored),
    folded: (category) => {
      const kind = byCategory.get(category)
      return kind?.checkpoint === undefined ? null : (kind as Folded)
    },
    categoriesOf: (types) => categoriesIn(kinds, types),
    prefixesOf: (companyId) => [...company].map((category) => `${category}-${companyId}`),
    prefixes: [...installation, ...[...company].map((category) => `${category}-${COMPANY_ID}`)],
    isOwn: (stream) =>
      installation.has(stream) ||
      (company.has(categoryOf(stream)) && companyOf(stream)?.startsWith(COMPANY_ID) === true),
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
    : { ...rules, checkpoint: checkpoint as CheckpointForm<unknown> }
}

/** @throws FormatFault where no decider has such streams */
function codecIn(byCategory: ReadonlyMap<string, StreamKind>, stream: string): Codec<AnyFact> {
  const kind = byCategory.get(categoryOf(stream))
  if (kind === undefined) throw new FormatFault(`no decider has a stream ${stream}`)
  return kind.codec as Codec<AnyFact>
}

/** How much of a type that another program chose is repeated. */
const TYPE_SHOWN = 60

function faultBy(codec: Codec<AnyFact>, stored: Unplaced): string | null {
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

function recordedBy(codec: Codec<AnyFact>, { stream, revision, ...stored }: Unplaced): Recorded {
  const { keyId, personId, actor, trace, version } = readMetadata(stored.metadata)
  const recorded = {
    stream,
    revision,
    keyId,
    personId,
    actor,
    category: categoryOf(stream),
    companyId: companyOf(stream),
    fact: codec.decode(stored.type, version, stored.data),
  }
  return trace === undefined ? recorded : { ...recorded, trace }
}

function categoriesIn(kinds: readonly StreamKind[], types: ReadonlySet<string>): FactsRead {
  const found = kinds.filter(({ codec }) => codec.types.some((type) => types.has(type)))
  const all = found.flatMap(({ codec }): readonly string[] => codec.types)
  return {
    categories: found.map(({ category }) => category),
    ignores: all.filter((type) => !types.has(type)),
  }
}
