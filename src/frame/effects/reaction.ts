/**
 * What follows from facts, as data: which work a fact calls for, which facts end it, and how it is done.
 * Every slice lists its own; the rows, the workers, giving up and erasure follow from the list.
 */
import type { ZodType } from "zod"
import type {
  StoredJob,
  StuckJob,
  ClaimedJob,
  JobResult,
} from "../../../adapters/postgres/jobs/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { CancelledJob, JobToEnqueue } from "../../../projections/kernel/jobs.ts"
import type { AnyFact } from "../../../domain/kernel/facts.ts"
import type { ProjectedFact } from "../../../projections/kernel/projection.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"

/** Something that is to be done for a company. */
export interface ReactionJob<P> {
  /** Unique within the kind: the same name again is the same work. */
  readonly name: string
  /** Work on one subject is done in order, one at a time; default its name. */
  readonly subject?: string
  /** Ids and sealed text only. */
  readonly payload: P
  /** By the ledger's clock, UTC milliseconds. */
  readonly dueAt: number
  /** Default the company of the fact's stream. */
  readonly companyId?: CompanyId
}

type FactOfType<T extends AnyFact["type"]> = Extract<AnyFact, { readonly type: T }>

/** A fact where it was recorded. */
export type RecordedFactOf<T extends AnyFact["type"]> = Omit<
  ProjectedFact,
  "fact" | "companyId"
> & {
  readonly companyId: CompanyId
  readonly fact: FactOfType<T>
}

/** What follows from facts, by their types. */
export type EnqueueRules<P> = {
  readonly [T in AnyFact["type"]]?: (
    fact: FactOfType<T>,
    recorded: RecordedFactOf<T>,
  ) => readonly ReactionJob<P>[]
}

/** The names of work that facts end, by their types. */
export type EndRules = {
  readonly [T in AnyFact["type"]]?: (
    fact: FactOfType<T>,
    recorded: RecordedFactOf<T>,
  ) => readonly string[]
}

/** Work in hand: its payload was parsed. */
export interface Job<P> extends Omit<ClaimedJob, "payload" | "companyId"> {
  readonly companyId: CompanyId
  readonly payload: P
  /** Aborted when the process is about to stop, or the row is another's by now. */
  readonly signal: AbortSignal
}

/** A parked row that an operator gives up, or the end of its company. */
export type DiscardedJob<P> = Omit<StuckJob, "payload" | "companyId"> & {
  readonly companyId: CompanyId
  readonly payload: P
}

/**
 * What giving a row up does: nothing is lost by it; it cannot be given up, for it is owed; or it ends
 * what the row stands for, or says why that cannot be and what to do instead.
 */
export type DiscardPolicy<P> =
  | "nothing is lost"
  | "owed"
  | ((
      ports: Ports,
      work: DiscardedJob<P>,
      cause: Cause,
    ) => Promise<{ readonly refusal: string } | null>)

/** How many of a kind may be in hand at once; a kind without bounds takes what places there are. */
export interface ConcurrencyLimits {
  readonly process?: number
  /** By all processes with one host name. */
  readonly machine?: number
  readonly company?: number
}

/** Work of one kind. */
export interface ReactionSpec<P> {
  readonly kind: string
  /** The form of what its rows carry: rows and backups of former versions have it too. */
  readonly payload: ZodType<P>
  /** The facts that call for it, by type; none where another reaction puts it off into this kind. */
  readonly on?: EnqueueRules<P>
  /** The facts after which nobody waits for it any more. */
  readonly endOn?: EndRules
  /** Does it; may be done again after a crash at any line. */
  readonly perform: (ports: Ports, work: Job<P>) => Promise<JobResult>
  readonly concurrency?: ConcurrencyLimits
  /**
   * Whether a request may run it before its fact has enqueued it. The fact then enqueues it a second time, when
   * the first may be a row of another kind already: the second must not call the provider again.
   */
  readonly isAwaited?: true
  /** Whether it may take longer than half a minute: it then leaves half of all places to others. */
  readonly isLong?: true
  /** Whether its rows are due minutes after their fact: they may be written seconds after it. */
  readonly isDelayed?: true
  /**
   * The first instant at which an operator may have it tried before it is due, UTC milliseconds; absent
   * where that is never safe.
   */
  readonly earliestRetryAt?: (payload: P) => number
  readonly discard: DiscardPolicy<P>
  /** Whether it is given up when its company is erased; else it is done or dropped with its rows. */
  readonly isDiscardedOnErasure?: true
  /** Whether its rows carry what a person wrote or is: they are deleted with their company. */
  readonly hasPersonalData?: true
}

/** A reaction, its types forgotten. */
export interface Reaction extends Omit<
  ReactionSpec<unknown>,
  "payload" | "on" | "perform" | "earliestRetryAt"
> {
  readonly payload: ZodType
  readonly on?: Readonly<Record<string, EnqueueRule | undefined>>
  readonly perform: (ports: Ports, work: Job<unknown>) => Promise<JobResult>
  readonly earliestRetryAt?: (payload: unknown) => number
}

/** A reaction whose rows carry a payload of the type `P`. */
export interface ReactionOf<P> extends Reaction {
  readonly payload: ZodType<P>
}

/** For work that may be tried before it is due whenever an operator wants it. */
export const AT_ANY_TIME = (): number => 0

/**
 * The first instant at which an operator may have a row tried or given up, UTC milliseconds: when it is
 * due, or earlier where its reaction allows that.
 */
export function earliestRetryAt(
  reactions: readonly Reaction[],
  { kind, payload, dueAt }: Pick<StoredJob, "kind" | "payload" | "dueAt">,
): number {
  const due = Date.parse(dueAt)
  const found = reactions.find((one) => one.kind === kind)
  const parsed = found?.payload.safeParse(payload)
  if (found?.earliestRetryAt === undefined || parsed?.success !== true) return due
  return Math.min(due, found.earliestRetryAt(parsed.data))
}

type EnqueueRule = (fact: AnyFact, recorded: ProjectedFact) => readonly ReactionJob<object>[]

/** Checks a reaction's types where it is written, and forgets all but its payload's for the list of all. */
export function reaction<P extends object>(spec: ReactionSpec<P>): ReactionOf<P> {
  return spec as unknown as ReactionOf<P>
}

/** What follows from a fact by all reactions. */
export function jobsFor(
  reactions: readonly Reaction[],
  recorded: ProjectedFact,
): readonly JobToEnqueue[] {
  const { fact, companyId: own, trace } = recorded
  const items = reactions.flatMap(({ kind, on }) => {
    const rule = on?.[fact.type]
    if (rule === undefined) return []
    return rule(fact, recorded).map(({ subject, companyId = own, ...item }) => {
      return { kind, companyId, ...item, subject: subject ?? item.name }
    })
  })
  return trace === undefined ? items : items.map((item) => ({ ...item, trace }))
}

/** The work that a fact ends. */
export function jobsEndedBy(
  reactions: readonly Reaction[],
  recorded: ProjectedFact,
): readonly CancelledJob[] {
  const { fact } = recorded
  return reactions.flatMap(({ kind, endOn }) => {
    const rules = endOn as Readonly<Record<string, EndRule | undefined>> | undefined
    const names = rules?.[fact.type]?.(fact, recorded) ?? []
    return names.map((name) => ({ kind, name }))
  })
}

type EndRule = (fact: AnyFact, recorded: ProjectedFact) => readonly string[]

/** The types of the facts that any of the reactions looks at. */
export function factTypesRead(reactions: readonly Reaction[]): ReadonlySet<string> {
  return new Set(
    reactions.flatMap(({ on = {}, endOn = {} }) => [...Object.keys(on), ...Object.keys(endOn)]),
  )
}
