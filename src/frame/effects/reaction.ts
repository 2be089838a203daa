/**
 * Reactions, as data: which facts enqueue a job, which facts end it, and how it runs. Every slice lists its
 * own; the projection, the workers, discarding and erasure derive from the list.
 */
import type { ZodType } from "zod"
import type {
  StoredJob,
  StuckJob,
  ClaimedJob,
  JobResult,
} from "../../../adapters/postgres/jobs/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { CanceledJob, JobToEnqueue } from "../../../projections/kernel/jobs.ts"
import type { AnyFact } from "../../../domain/kernel/facts.ts"
import type { ProjectedFact } from "../../../projections/kernel/projection.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"

/** A job that a fact enqueues. */
export interface ReactionJob<P> {
  /** Unique within the kind: the same name means the same job. */
  readonly name: string
  /** Jobs with the same subject run in order, one at a time; default the name. */
  readonly subject?: string
  /** Ids and sealed text only. */
  readonly payload: P
  /** By the ledger's clock, UTC milliseconds. */
  readonly dueAt: number
  /** Default the company of the fact's stream. */
  readonly companyId?: CompanyId
}

type FactOfType<T extends AnyFact["type"]> = Extract<AnyFact, { readonly type: T }>

/** A fact of one type, as recorded. */
export type RecordedFactOf<T extends AnyFact["type"]> = Omit<
  ProjectedFact,
  "fact" | "companyId"
> & {
  readonly companyId: CompanyId
  readonly fact: FactOfType<T>
}

/** The jobs that facts enqueue, by fact type. */
export type EnqueueRules<P> = {
  readonly [T in AnyFact["type"]]?: (
    fact: FactOfType<T>,
    recorded: RecordedFactOf<T>,
  ) => readonly ReactionJob<P>[]
}

/** The names of jobs that facts end, by fact type. */
export type EndRules = {
  readonly [T in AnyFact["type"]]?: (
    fact: FactOfType<T>,
    recorded: RecordedFactOf<T>,
  ) => readonly string[]
}

export interface Job<P> extends Omit<ClaimedJob, "payload" | "companyId"> {
  readonly companyId: CompanyId
  readonly payload: P
  /** Aborted when the process is about to stop, or the lease was lost. */
  readonly signal: AbortSignal
}

/** A stuck job that an operator discards, or that ends with its company. */
export type DiscardedJob<P> = Omit<StuckJob, "payload" | "companyId"> & {
  readonly companyId: CompanyId
  readonly payload: P
}

/**
 * Whether an operator may discard a stuck job. A function ends what the job was for, or returns why it cannot
 * and what to do instead.
 */
export type DiscardPolicy<P> =
  /** Discarding the job loses nothing. */
  | "allowed"
  /** A company is owed the job's result. */
  | "never"
  | ((
      ports: Ports,
      work: DiscardedJob<P>,
      cause: Cause,
    ) => Promise<{ readonly refusal: string } | null>)

/** Maximum numbers of concurrent jobs of a kind; without them only the workers' own limit applies. */
export interface ConcurrencyLimits {
  readonly process?: number
  /** Across all processes with the same host name. */
  readonly machine?: number
  readonly company?: number
}

/** A reaction, as a slice declares it. */
export interface ReactionSpec<P> {
  readonly kind: string
  /** Schema of the payload; it must accept jobs and backups of earlier versions. */
  readonly payload: ZodType<P>
  /** The facts that enqueue it; absent if only another reaction turns its jobs into this kind. */
  readonly on?: EnqueueRules<P>
  /** The facts that make it unnecessary. */
  readonly endOn?: EndRules
  /** Runs the job; after a crash at any line it runs again. */
  readonly perform: (ports: Ports, work: Job<P>) => Promise<JobResult>
  readonly concurrency?: ConcurrencyLimits
  /**
   * Whether a request may run it before its fact enqueues it. By then the first job may have another kind, so
   * the second one must not call the provider again.
   */
  readonly isAwaited?: true
  /** Whether it may take longer than half a minute; such jobs leave half of the room to others. */
  readonly isLong?: true
  /** Whether its jobs are due minutes after their fact, so that they may be enqueued seconds late. */
  readonly isDelayed?: true
  /**
   * The first time at which an operator may run it before it is due, UTC milliseconds; absent if that is
   * never safe.
   */
  readonly earliestRetryAt?: (payload: P) => number
  readonly discard: DiscardPolicy<P>
  /** Whether it is discarded when its company is erased; otherwise it runs, or is deleted with its rows. */
  readonly isDiscardedOnErasure?: true
  /** Whether its payload holds personal data: then its rows are deleted with their company. */
  readonly hasPersonalData?: true
}

/** A reaction without its payload type. */
export interface Reaction extends Omit<
  ReactionSpec<unknown>,
  "payload" | "on" | "perform" | "earliestRetryAt"
> {
  readonly payload: ZodType
  readonly on?: Readonly<Record<string, EnqueueRule | undefined>>
  readonly perform: (ports: Ports, work: Job<unknown>) => Promise<JobResult>
  readonly earliestRetryAt?: (payload: unknown) => number
}

/** A reaction whose jobs have a payload of type `P`. */
export interface ReactionOf<P> extends Reaction {
  readonly payload: ZodType<P>
}

/** For jobs that an operator may run at any time before they are due. */
export const AT_ANY_TIME = (): number => 0

/**
 * Returns the first time at which an operator may retry or discard a job, UTC milliseconds: its due time, or
 * earlier if its reaction allows that.
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

/** Checks a reaction's types, and erases all but its payload's for the common list. */
export function reaction<P extends object>(spec: ReactionSpec<P>): ReactionOf<P> {
  return spec as unknown as ReactionOf<P>
}

/** Returns the jobs that a fact enqueues, over all reactions. */
export function jobsFor(
  reactions: readonly Reaction[],
  recorded: ProjectedFact,
): readonly JobToEnqueue[] {
  const { fact, companyId: factCompanyId, trace } = recorded
  const items = reactions.flatMap(({ kind, on }) => {
    const rule = on?.[fact.type]
    if (rule === undefined) return []
    return rule(fact, recorded).map(({ subject, companyId = factCompanyId, ...item }) => {
      return { kind, companyId, ...item, subject: subject ?? item.name }
    })
  })
  return trace === undefined ? items : items.map((item) => ({ ...item, trace }))
}

/** Returns the jobs that a fact ends. */
export function jobsEndedBy(
  reactions: readonly Reaction[],
  recorded: ProjectedFact,
): readonly CanceledJob[] {
  const { fact } = recorded
  return reactions.flatMap(({ kind, endOn }) => {
    const rules = endOn as Readonly<Record<string, EndRule | undefined>> | undefined
    const names = rules?.[fact.type]?.(fact, recorded) ?? []
    return names.map((name) => ({ kind, name }))
  })
}

type EndRule = (fact: AnyFact, recorded: ProjectedFact) => readonly string[]

/** Returns the types of all facts that the reactions respond to. */
export function factTypesRead(reactions: readonly Reaction[]): ReadonlySet<string> {
  return new Set(
    reactions.flatMap(({ on = {}, endOn = {} }) => [...Object.keys(on), ...Object.keys(endOn)]),
  )
}
