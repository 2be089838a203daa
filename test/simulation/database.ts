/**
 * What processes share beside the store: checkpoints, claims, locks, leases, read models with their
 * positions, and work. Each statement has its effect at one instant, whole or not at all.
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

/** Rows by their key. */
export type ModelRows = Map<string, unknown>

/** The read models that are plain folds. */
export const FOLDED_MODELS = {
  charges: foldCharges,
  accounts: foldAccounts,
} as const satisfies Record<string, (rows: ModelRows, recorded: ProjectedFact) => void>

/** The name of one of them. */
export type FoldedModel = keyof typeof FOLDED_MODELS

/** Whether a read model is one of them. */
const isFolded = (model: string): model is FoldedModel => Object.hasOwn(FOLDED_MODELS, model)

/** Folds stored events into a read model's rows. */
export function foldModel(
  model: FoldedModel,
  rows: ModelRows,
  events: readonly StoredEvent[],
): void {
  for (const stored of events) FOLDED_MODELS[model](rows, PROGRAM.streams.toRecorded(stored))
}

/** The lines of the bill, and what became of each charge. */
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
      const isWhole = given_back_micros === -charge.amount_micros
      return { given_back_micros, state: isWhole ? "given_back" : "final" }
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

/** The newest charge of an id; null where there is none. */
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

/** The balance of each account, and how many facts there were: what a fact too much would show in. */
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

/** A row that was taken and not settled may be taken again after this: its taker may be dead. */
const LEASE_MS = 5_000
/** Mail and the payment processor are no part of the simulation. */
const LEFT_OUT: ReadonlySet<string> = new Set([
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
  /** By the database's own time. */
  retryAt: number
  leasedUntil: number
  holder: TaskOwner | null
  stuckReason: string | null
  isDispatched: boolean
}

/** The rows, and the statements that a projection writes them with. */
class JobTable {
  readonly #rows = new Map<number, JobRow>()
  readonly #now: () => number
  #made = 0
  /** What the projection writes through. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly sql: Kysely<any> = kyselyWith(async (query) => {
    this.#write(query)
    return []
  })

  constructor(now: () => number) {
    this.#now = now
  }

  /** Rows as they stand, by kind, name and payload. */
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
      throw new Error(`no such statement is answered here: ${statement}`)
    }
    const columns = query.parameters.map(arrayElementsOf)
    const [kinds = [], names = [], subjects = [], companies = [], payloads = [], dueAts = []] =
      columns
    for (const [i, kind] of (kinds as readonly string[]).entries()) {
      const name = names[i] as string
      if (LEFT_OUT.has(kind) || this.#has(kind, name)) continue
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

  /** Takes rows that are due: of one subject one at a time, the earliest first. */
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

  /** Says what became of a row. */
  settle(owner: TaskOwner, workId: number, result: JobResult): void {
    const row = this.#rows.get(workId)
    if (row === undefined) return
    if (result.result === "done") {
      this.#rows.delete(workId)
      return
    }
    if (row.holder !== owner) return
    row.holder = null
    if (result.result === "later") {
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
    if (result.result === "let go") {
      row.attempts -= 1
      if (result.isDispatchCleared === true) row.isDispatched = false
    }
    if (result.result === "park") row.stuckReason = result.reason
  }

  /** Writes down that a row is about to go to a provider; false where it is another owner's. */
  dispatch(owner: TaskOwner, workId: number): boolean {
    const row = this.#rows.get(workId)
    if (row?.holder !== owner) return false
    row.isDispatched = true
    row.leasedUntil = this.#now() + LEASE_MS
    return true
  }

  /** Holds rows for longer; answers those that are still their owner's. */
  renew(owner: TaskOwner, workIds: readonly number[]): readonly number[] {
    return workIds.filter((workId) => {
      const row = this.#rows.get(workId)
      if (row?.holder !== owner) return false
      row.leasedUntil = this.#now() + LEASE_MS
      return true
    })
  }

  /** An operator has everything done again at once that is parked, or waits out a back-off. */
  retryAll(): void {
    for (const row of this.#rows.values()) {
      row.retryAt = -Infinity
      if (row.stuckReason === null) continue
      row.stuckReason = null
      row.attempts = 0
    }
  }

  /** Lets go what an owner took and does not have in hand. */
  release(owner: TaskOwner, inHand: readonly number[]): void {
    for (const row of this.#rows.values()) {
      if (row.holder === owner && !inHand.includes(row.jobId)) row.holder = null
    }
  }
}

/** The queue as a process asks it, each question through `ask`. */
export function jobQueueOf(
  table: JobTable,
  owner: TaskOwner,
  ask: <T>(effect: () => T) => Promise<T>,
): JobQueue {
  const noRows: readonly ListedJob[] = []
  return {
    claim: (now, limit) => ask(() => table.claim(owner, now, limit)),
    releaseExcept: (inHand) => ask(() => table.release(owner, inHand)),
    settle: (workId, result) => ask(() => table.settle(owner, workId, result)),
    dispatch: (workId) => ask(() => table.dispatch(owner, workId)),
    renewLeases: (workIds) => ask(() => table.renew(owner, workIds)),
    // Nothing that a call waits for is part of the simulation.
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

/** The name of a read model. */
export type ReadModelName = (typeof READ_MODEL_NAMES)[number]

/** A read model that writes its position somewhere else than its rows, to see that this is found. */
export interface DatabaseFlaws {
  readonly hasSplitPositionWrites?: boolean
}

/** The database of a run. */
export class SimulatedDatabase {
  readonly checkpoints: Checkpoints = openMemoryCheckpoints()
  readonly idempotency: IdempotencyStore = openMemoryIdempotency()
  readonly jobs: JobTable
  /** The plain read models' rows. */
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

  /** How far a read model came. */
  positionOf(model: ReadModelName): Position {
    return this.#positions.get(model) ?? START
  }

  /**
   * Folds events into a read model and stores its position with the rows; events that it has already
   * are passed over. False where it stands elsewhere than its writer thinks: nothing is changed.
   */
  async write(
    model: ReadModelName,
    known: Position,
    events: readonly StoredEvent[],
  ): Promise<boolean> {
    const position = this.positionOf(model)
    if (comparePositions(position, known) !== 0) return false
    const news = events.filter((event) => comparePositions(event.position, position) > 0)
    const last = news.at(-1)
    if (last === undefined) return true
    if (isFolded(model)) foldModel(model, this.rows[model], news)
    else await this.#writeWork(model, news)
    if (this.#flaws.hasSplitPositionWrites !== true) this.#positions.set(model, last.position)
    return true
  }

  async #writeWork(model: ReadModelName, news: readonly StoredEvent[]): Promise<void> {
    const rows = PROGRAM.jobProjections.find(({ name }) => name === model)
    if (rows === undefined) throw new RangeError(`there is no read model ${model}`)
    const facts = news
      .map(PROGRAM.streams.toRecorded)
      .filter(({ category }) => rows.categories.includes(category))
    // The projection takes a transaction, and uses no more of it than that it is asked.
    await rows.apply(this.jobs.sql as Transaction<unknown>, facts, { unseal: async () => null })
  }

  /** Stores a position without rows, unless the read model stands elsewhere than its writer thinks. */
  advancePosition(model: ReadModelName, known: Position, to: Position): boolean {
    if (comparePositions(this.positionOf(model), known) !== 0) return false
    if (comparePositions(to, known) > 0) this.#positions.set(model, to)
    return true
  }

  /** Takes a lock for somebody where nobody alive has it. */
  acquireLock(name: string, owner: TaskOwner): boolean {
    if (this.#held.get(name)?.isAlive === true) return false
    this.#held.set(name, owner)
    return true
  }

  /** Whether somebody has a lock. */
  hasLock(name: string, owner: TaskOwner): boolean {
    return this.#held.get(name) === owner
  }

  /** Gives a lock back, where it is still theirs. */
  releaseLock(name: string, owner: TaskOwner): void {
    if (this.hasLock(name, owner)) this.#held.delete(name)
  }

  /** All locks are lost, and nobody is told. */
  loseLocks(): void {
    this.#held.clear()
  }
}
