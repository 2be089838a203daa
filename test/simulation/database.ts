/**
 * What processes share in addition to the store: checkpoints, claims, locks, leases, read models with their positions,
 * and jobs. Each statement takes effect at one instant, completely or not at all.
 */
import type { CompiledQuery, Kysely, Transaction } from "kysely"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import { openMemoryIdempotency } from "../../adapters/postgres/idempotency/postgres.ts"
import type { IdempotencyStore } from "../../adapters/postgres/idempotency/port.ts"
import type { StoredEvent, Position } from "../../adapters/eventstore/port.ts"
import { START, comparePositions } from "../../adapters/eventstore/port.ts"
import type {
  ListedJob,
  ClaimedJob,
  JobQueue,
  JobResult,
} from "../../adapters/postgres/jobs/port.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"
import type { ChargeRow } from "../../projections/charging/charge-lines.ts"
import { chargeRowOf as chargeLineOf } from "../../projections/charging/charge-lines.ts"
import type { ProjectedFact } from "../../projections/kernel/projection.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { TaskOwner } from "./schedule.ts"
import { arrayElementsOf, kyselyWith, statementLineOf } from "./sql.ts"

export type ModelRows = Map<string, unknown>

/** The read models that are pure folds. */
export const FOLDED_MODELS = {
  charges: foldCharges,
  accounts: foldAccounts,
} as const satisfies Record<string, (rows: ModelRows, recorded: ProjectedFact) => void>

export type FoldedModel = keyof typeof FOLDED_MODELS

const isFolded = (model: string): model is FoldedModel => Object.hasOwn(FOLDED_MODELS, model)

/** Folds stored events into a read model's rows. */
export function foldModel(
  model: FoldedModel,
  rows: ModelRows,
  events: readonly StoredEvent[],
): void {
  for (const stored of events) FOLDED_MODELS[model](rows, PROGRAM.streams.toRecorded(stored))
}

/** Folds a fact into the lines of the bill, with each charge's state. */
function foldCharges(rows: ModelRows, { fact, companyId, revision }: ProjectedFact): void {
  if (companyId === null) return
  const line = chargeLineOf({ fact, companyId, revision })
  if (line !== null) rows.set(`${companyId} ${revision}`, line)
  if (fact.type === "ChargesSettled") {
    for (const chargeId of fact.chargeIds) {
      change(rows, companyId, chargeId, () => ({ state: "final" }))
    }
  }
  if (fact.type === "ChargeReduced") {
    change(rows, companyId, fact.chargeId, (charge) => {
      const given_back_micros = charge.given_back_micros + fact.amountMicros
      const isFull = given_back_micros === -charge.amount_micros
      return { given_back_micros, state: isFull ? "given_back" : "final" }
    })
  }
}

function change(
  rows: ModelRows,
  companyId: CompanyId,
  chargeId: string,
  changed: (charge: ChargeRow) => Partial<ChargeRow>,
): void {
  const charge = newestChargeIn(rows, companyId, chargeId)
  if (charge === null) return
  rows.set(`${companyId} ${charge.revision}`, { ...charge, ...changed(charge) })
}

/** The newest charge of an id; null if there is none. */
export function newestChargeIn(
  rows: ModelRows,
  companyId: CompanyId,
  chargeId: string,
): ChargeRow | null {
  let newest: ChargeRow | null = null
  for (const row of rows.values() as Iterable<ChargeRow>) {
    if (row.company_id !== companyId || row.charge_id !== chargeId) continue
    if (newest === null || row.revision > newest.revision) newest = row
  }
  return newest
}

/** Folds a fact into account balances and counts it, so that a fact that is folded twice is visible. */
function foldAccounts(rows: ModelRows, { fact, companyId, category }: ProjectedFact): void {
  const add = (name: string, amount: number): void => {
    const key = `${companyId} ${name}`
    rows.set(key, ((rows.get(key) as number | undefined) ?? 0) + amount)
  }
  add(`facts of ${category}`, 1)
  if (category !== "ledger") return
  for (const { account, amountMicros } of postingsOf(fact as LedgerEvent))
    add(account, amountMicros)
}

/** Rows as text that is equal for equal rows. */
export function canonicalRows(rows: ModelRows): string {
  return JSON.stringify([...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** Lease of a claimed job in milliseconds; afterwards another process may claim it. */
const LEASE_MS = 5_000
/** The simulation leaves out mail and the payment processor. */
const SIMULATION_EXCLUDES: ReadonlySet<string> = new Set([
  "send-reminder",
  "send-low-funds-alert",
  "pay-purchase",
  "collect-credit",
])

interface JobRow {
  readonly jobId: number
  kind: string
  readonly name: string
  subject: string
  readonly companyId: CompanyId | null
  readonly payload: string
  /** By the ledger's clock. */
  dueAt: number
  attempts: number
  /** By the database's own clock. */
  retryAt: number
  leasedUntil: number
  holder: TaskOwner | null
  stuckReason: string | null
  isDispatched: boolean
}

/** The rows of jobs, and the statements with which a projection writes them. */
class JobTable {
  readonly #rows = new Map<number, JobRow>()
  readonly #now: () => number
  #made = 0
  /** The database through which the projection writes. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly sql: Kysely<any> = kyselyWith(async (query) => {
    this.#write(query)
    return []
  })

  constructor(now: () => number) {
    this.#now = now
  }

  rows(): readonly Readonly<JobRow>[] {
    return [...this.#rows.values()]
  }

  #write(query: CompiledQuery): void {
    const statement = statementLineOf(query)
    if (statement.startsWith("delete from ledger.jobs where kind = $1 and name = any($2")) {
      const [kind, listed] = query.parameters
      const names = arrayElementsOf(listed)
      for (const row of this.rows()) {
        if (row.kind === kind && names.includes(row.name)) this.#rows.delete(row.jobId)
      }
      return
    }
    if (!statement.startsWith('insert into "ledger"."jobs" ("kind", "name", "subject"')) {
      throw new Error(`unexpected statement: ${statement}`)
    }
    const columns = query.parameters.map(arrayElementsOf)
    const [kinds = [], names = [], subjects = [], companies = [], payloads = [], dueAts = []] =
      columns
    for (const [i, kind] of (kinds as readonly string[]).entries()) {
      const name = names[i] as string
      if (SIMULATION_EXCLUDES.has(kind) || this.#has(kind, name)) continue
      this.#made += 1
      this.#rows.set(this.#made, {
        jobId: this.#made,
        kind,
        name,
        subject: subjects[i] as string,
        companyId: parseCompanyId(companies[i] ?? ""),
        payload: payloads[i] as string,
        dueAt: Date.parse(dueAts[i] as string),
        attempts: 0,
        retryAt: -Infinity,
        leasedUntil: -Infinity,
        holder: null,
        stuckReason: null,
        isDispatched: false,
      })
    }
  }

  #has(kind: string, name: string): boolean {
    return this.rows().some((row) => row.kind === kind && row.name === name)
  }

  #isFree(row: JobRow): boolean {
    return row.holder === null || !row.holder.isAlive || row.leasedUntil < this.#now()
  }

  /** Claims due jobs, the earliest first and only one per subject. */
  claim(owner: TaskOwner, now: number, limit: number): readonly ClaimedJob[] {
    const due = this.rows()
      .filter((row) => row.stuckReason === null && row.dueAt <= now && row.retryAt <= this.#now())
      .filter((row) => this.#isFree(row as JobRow))
      .filter((row) => !this.rows().some((other) => this.#isBefore(other, row, now)))
      .toSorted((a, b) => a.dueAt - b.dueAt || a.jobId - b.jobId)
    return due.slice(0, limit).map((found) => {
      const row = found as JobRow
      row.holder = owner
      row.leasedUntil = this.#now() + LEASE_MS
      row.attempts += 1
      const { payload, jobId, kind, name, subject, companyId, attempts, isDispatched } = row
      const claimed = { jobId, kind, name, subject, companyId, attempts, isDispatched }
      return { ...claimed, payload: JSON.parse(payload) as unknown }
    })
  }

  #isBefore(other: Readonly<JobRow>, row: Readonly<JobRow>, now: number): boolean {
    if (other.subject !== row.subject || other.jobId === row.jobId || other.stuckReason !== null) {
      return false
    }
    return (other.jobId < row.jobId && other.dueAt <= now) || !this.#isFree(other)
  }

  settle(owner: TaskOwner, workId: number, result: JobResult): void {
    const row = this.#rows.get(workId)
    if (row === undefined) return
    if (result.result === "done") {
      this.#rows.delete(workId)
      return
    }
    if (row.holder !== owner) return
    row.holder = null
    if (result.result === "rescheduled") {
      row.dueAt = result.dueAt
      row.kind = result.kind ?? row.kind
      row.subject = result.subject ?? row.subject
      row.retryAt = -Infinity
      row.attempts = 0
    }
    if (result.result === "retry") {
      row.retryAt = this.#now() + result.afterMs
      if (result.isDispatchCleared === true) row.isDispatched = false
    }
    if (result.result === "released") {
      row.attempts -= 1
      if (result.isDispatchCleared === true) row.isDispatched = false
    }
    if (result.result === "stuck") row.stuckReason = result.reason
  }

  /** Records that a job's provider call begins; returns false if the owner has lost the job. */
  dispatch(owner: TaskOwner, workId: number): boolean {
    const row = this.#rows.get(workId)
    if (row?.holder !== owner) return false
    row.isDispatched = true
    row.leasedUntil = this.#now() + LEASE_MS
    return true
  }

  /** Renews leases; returns the jobs that the owner still holds. */
  renew(owner: TaskOwner, workIds: readonly number[]): readonly number[] {
    return workIds.filter((workId) => {
      const row = this.#rows.get(workId)
      if (row?.holder !== owner) return false
      row.leasedUntil = this.#now() + LEASE_MS
      return true
    })
  }

  /** Retries every job that is stuck or waits for a back-off, as an operator can. */
  retryAll(): void {
    for (const row of this.#rows.values()) {
      row.retryAt = -Infinity
      if (row.stuckReason === null) continue
      row.stuckReason = null
      row.attempts = 0
    }
  }

  /** Releases the owner's claimed jobs that are not in progress. */
  release(owner: TaskOwner, inProgress: readonly number[]): void {
    for (const row of this.#rows.values()) {
      if (row.holder === owner && !inProgress.includes(row.jobId)) row.holder = null
    }
  }
}

/** The job queue of a process; every request goes through `ask`. */
export function jobQueueOf(
  table: JobTable,
  owner: TaskOwner,
  ask: <T>(effect: () => T) => Promise<T>,
): JobQueue {
  const noRows: readonly ListedJob[] = []
  return {
    claim: (now, limit) => ask(() => table.claim(owner, now, limit)),
    releaseExcept: (inProgress) => ask(() => table.release(owner, inProgress)),
    settle: (workId, result) => ask(() => table.settle(owner, workId, result)),
    dispatch: (workId) => ask(() => table.dispatch(owner, workId)),
    renewLeases: (workIds) => ask(() => table.renew(owner, workIds)),
    // No simulated request waits for a job.
    enqueueClaimed: async () => null,
    countDue: async () => 0,
    backlog: async () => ({ due: 0, dueSince: null, stuck: 0, stuckSince: null }),
    findNextDue: async () => null,
    listNames: async () => [],
    list: async () => noRows,
    find: async () => null,
    findByName: async () => null,
    discard: async () => false,
    retry: async () => false,
  }
}

/** Every read model of the simulation. */
export const READ_MODEL_NAMES = ["charges", "accounts", "jobs", "late jobs"] as const

export type ReadModelName = (typeof READ_MODEL_NAMES)[number]

/** Makes a read model write its position separately from its rows, which the audit must find. */
export interface DatabaseFlaws {
  readonly hasSplitPositionWrites?: boolean
}

/** The database of a run. */
export class SimulatedDatabase {
  readonly checkpoints: Checkpoints = openMemoryCheckpoints()
  readonly idempotency: IdempotencyStore = openMemoryIdempotency()
  readonly jobs: JobTable
  readonly rows: Readonly<Record<FoldedModel, ModelRows>> = {
    charges: new Map(),
    accounts: new Map(),
  }
  readonly #flaws: DatabaseFlaws
  readonly #positions = new Map<ReadModelName, Position>()
  readonly #held = new Map<string, TaskOwner>()

  constructor(now: () => number, flaws: DatabaseFlaws) {
    this.jobs = new JobTable(now)
    this.#flaws = flaws
  }

  positionOf(model: ReadModelName): Position {
    return this.#positions.get(model) ?? START
  }

  /**
   * Folds events into a read model and stores its position with the rows; events it already has are skipped. Returns
   * false and changes nothing if the stored position is not `known`.
   */
  async write(
    model: ReadModelName,
    known: Position,
    events: readonly StoredEvent[],
  ): Promise<boolean> {
    const position = this.positionOf(model)
    if (comparePositions(position, known) !== 0) return false
    const newEvents = events.filter((event) => comparePositions(event.position, position) > 0)
    const last = newEvents.at(-1)
    if (last === undefined) return true
    if (isFolded(model)) foldModel(model, this.rows[model], newEvents)
    else await this.#writeJobs(model, newEvents)
    if (this.#flaws.hasSplitPositionWrites !== true) this.#positions.set(model, last.position)
    return true
  }

  async #writeJobs(model: ReadModelName, newEvents: readonly StoredEvent[]): Promise<void> {
    const rows = PROGRAM.jobProjections.find(({ name }) => name === model)
    if (rows === undefined) throw new RangeError(`there is no read model ${model}`)
    const facts = newEvents
      .map(PROGRAM.streams.toRecorded)
      .filter(({ category }) => rows.categories.includes(category))
    // The projection uses nothing of the transaction except its statements.
    await rows.apply(this.jobs.sql as Transaction<unknown>, facts, { unseal: async () => null })
  }

  /** Stores a position without rows, unless the stored position is not `known`. */
  advancePosition(model: ReadModelName, known: Position, to: Position): boolean {
    if (comparePositions(this.positionOf(model), known) !== 0) return false
    if (comparePositions(to, known) > 0) this.#positions.set(model, to)
    return true
  }

  /** Acquires a lock unless a running process holds it. */
  acquireLock(name: string, owner: TaskOwner): boolean {
    if (this.#held.get(name)?.isAlive === true) return false
    this.#held.set(name, owner)
    return true
  }

  /** Whether this owner holds a lock. */
  hasLock(name: string, owner: TaskOwner): boolean {
    return this.#held.get(name) === owner
  }

  /** Releases a lock if the owner still holds it. */
  releaseLock(name: string, owner: TaskOwner): void {
    if (this.hasLock(name, owner)) this.#held.delete(name)
  }

  /** Loses all locks without notifying their owners. */
  loseLocks(): void {
    this.#held.clear()
  }
}
