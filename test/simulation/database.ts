/**
 * What processes share beside the store: checkpoints, claims, locks, leases, read models with their
 * positions, and work. Each statement has its effect at one instant, whole or not at all.
 */
import type { CompiledQuery, Kysely, Transaction } from "kysely"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import { openMemoryClaims } from "../../adapters/postgres/idempotency/postgres.ts"
import type { Claims } from "../../adapters/postgres/idempotency/port.ts"
import type { StoredEvent, Position } from "../../adapters/eventstore/port.ts"
import { START, comparePositions } from "../../adapters/eventstore/port.ts"
import type {
  ListedWork,
  TakenWork,
  WorkQueue,
  WorkResult,
} from "../../adapters/postgres/jobs/port.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"
import type { ChargeRow } from "../../projections/charging/charge-lines.ts"
import { lineOf as chargeLineOf } from "../../projections/charging/charge-lines.ts"
import type { Recorded } from "../../projections/kernel/projection.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { Owner } from "./schedule.ts"
import { elementsOf, kyselyAnswering, lineOf } from "./sql.ts"

/** Rows by their key. */
export type Rows = Map<string, unknown>

/** The read models that are plain folds. */
export const PLAIN_MODELS = {
  charges: foldCharges,
  accounts: foldAccounts,
} as const satisfies Record<string, (rows: Rows, recorded: Recorded) => void>

/** The name of one of them. */
export type PlainModel = keyof typeof PLAIN_MODELS

/** Whether a read model is one of them. */
const isPlain = (model: string): model is PlainModel => Object.hasOwn(PLAIN_MODELS, model)

/** Folds stored events into a read model's rows. */
export function fold(model: PlainModel, rows: Rows, events: readonly StoredEvent[]): void {
  for (const stored of events) PLAIN_MODELS[model](rows, PROGRAM.streams.recorded(stored))
}

/** The lines of the bill, and what became of each charge. */
function foldCharges(rows: Rows, { fact, companyId, revision }: Recorded): void {
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
  rows: Rows,
  companyId: CompanyId,
  chargeId: string,
  changed: (charge: ChargeRow) => Partial<ChargeRow>,
): void {
  const charge = newestCharge(rows, companyId, chargeId)
  if (charge === null) return
  rows.set(`${companyId} ${charge.revision}`, { ...charge, ...changed(charge) })
}

/** The newest charge of an id; null where there is none. */
export function newestCharge(rows: Rows, companyId: CompanyId, chargeId: string): ChargeRow | null {
  let newest: ChargeRow | null = null
  for (const row of rows.values() as Iterable<ChargeRow>) {
    if (row.company_id !== companyId || row.charge_id !== chargeId) continue
    if (newest === null || row.revision > newest.revision) newest = row
  }
  return newest
}

/** The balance of each account, and how many facts there were: what a fact too much would show in. */
function foldAccounts(rows: Rows, { fact, companyId, category }: Recorded): void {
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
export function showRows(rows: Rows): string {
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

interface Row {
  readonly workId: number
  kind: string
  readonly name: string
  subject: string
  readonly companyId: CompanyId | null
  readonly payload: string
  /** By the ledger's clock. */
  dueAt: number
  tries: number
  /** By the database's own time. */
  retryAt: number
  leasedUntil: number
  holder: Owner | null
  parked: string | null
  isHandedOver: boolean
}

/** The rows, and the statements that a projection writes them with. */
class WorkTable {
  readonly #rows = new Map<number, Row>()
  readonly #now: () => number
  #made = 0
  /** What the projection writes through. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly sql: Kysely<any> = kyselyAnswering(async (query) => {
    this.#write(query)
    return []
  })

  constructor(now: () => number) {
    this.#now = now
  }

  /** Rows as they stand, by kind, name and payload. */
  rows(): readonly Readonly<Row>[] {
    return [...this.#rows.values()]
  }

  #write(query: CompiledQuery): void {
    const statement = lineOf(query)
    if (statement.startsWith("delete from ledger.jobs where kind = $1 and name = any($2")) {
      const [kind, listed] = query.parameters
      const names = elementsOf(listed)
      for (const row of this.rows()) {
        if (row.kind === kind && names.includes(row.name)) this.#rows.delete(row.workId)
      }
      return
    }
    if (!statement.startsWith('insert into "ledger"."jobs" ("kind", "name", "subject"')) {
      throw new Error(`no such statement is answered here: ${statement}`)
    }
    const columns = query.parameters.map(elementsOf)
    const [kinds = [], names = [], subjects = [], companies = [], payloads = [], dueAts = []] =
      columns
    for (const [i, kind] of (kinds as readonly string[]).entries()) {
      const name = names[i] as string
      if (LEFT_OUT.has(kind) || this.#has(kind, name)) continue
      this.#made += 1
      this.#rows.set(this.#made, {
        workId: this.#made,
        kind,
        name,
        subject: subjects[i] as string,
        companyId: parseCompanyId(companies[i] ?? ""),
        payload: payloads[i] as string,
        dueAt: Date.parse(dueAts[i] as string),
        tries: 0,
        retryAt: -Infinity,
        leasedUntil: -Infinity,
        holder: null,
        parked: null,
        isHandedOver: false,
      })
    }
  }

  #has(kind: string, name: string): boolean {
    return this.rows().some((row) => row.kind === kind && row.name === name)
  }

  #isFree(row: Row): boolean {
    return row.holder === null || !row.holder.isAlive || row.leasedUntil < this.#now()
  }

  /** Takes rows that are due: of one subject one at a time, the earliest first. */
  take(owner: Owner, now: number, limit: number): readonly TakenWork[] {
    const due = this.rows()
      .filter((row) => row.parked === null && row.dueAt <= now && row.retryAt <= this.#now())
      .filter((row) => this.#isFree(row as Row))
      .filter((row) => !this.rows().some((other) => this.#isBefore(other, row, now)))
      .toSorted((a, b) => a.dueAt - b.dueAt || a.workId - b.workId)
    return due.slice(0, limit).map((found) => {
      const row = found as Row
      row.holder = owner
      row.leasedUntil = this.#now() + LEASE_MS
      row.tries += 1
      const { payload, workId, kind, name, subject, companyId, tries, isHandedOver } = row
      const taken = { workId, kind, name, subject, companyId, tries, isHandedOver }
      return { ...taken, payload: JSON.parse(payload) as unknown }
    })
  }

  #isBefore(other: Readonly<Row>, row: Readonly<Row>, now: number): boolean {
    if (other.subject !== row.subject || other.workId === row.workId || other.parked !== null) {
      return false
    }
    return (other.workId < row.workId && other.dueAt <= now) || !this.#isFree(other)
  }

  /** Says what became of a row. */
  settle(owner: Owner, workId: number, result: WorkResult): void {
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
      row.tries = 0
    }
    if (result.result === "retry") {
      row.retryAt = this.#now() + result.afterMs
      if (result.isUndone === true) row.isHandedOver = false
    }
    if (result.result === "let go") {
      row.tries -= 1
      if (result.isUndone === true) row.isHandedOver = false
    }
    if (result.result === "park") row.parked = result.reason
  }

  /** Writes down that a row is about to go to a provider; false where it is another owner's. */
  handOver(owner: Owner, workId: number): boolean {
    const row = this.#rows.get(workId)
    if (row?.holder !== owner) return false
    row.isHandedOver = true
    row.leasedUntil = this.#now() + LEASE_MS
    return true
  }

  /** Holds rows for longer; answers those that are still their owner's. */
  renew(owner: Owner, workIds: readonly number[]): readonly number[] {
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
      if (row.parked === null) continue
      row.parked = null
      row.tries = 0
    }
  }

  /** Lets go what an owner took and does not have in hand. */
  letGo(owner: Owner, inHand: readonly number[]): void {
    for (const row of this.#rows.values()) {
      if (row.holder === owner && !inHand.includes(row.workId)) row.holder = null
    }
  }
}

/** The queue as a process asks it, each question through `ask`. */
export function workQueueOf(
  table: WorkTable,
  owner: Owner,
  ask: <T>(effect: () => T) => Promise<T>,
): WorkQueue {
  const noRows: readonly ListedWork[] = []
  return {
    take: (now, limit) => ask(() => table.take(owner, now, limit)),
    letGo: (inHand) => ask(() => table.letGo(owner, inHand)),
    settle: (workId, result) => ask(() => table.settle(owner, workId, result)),
    handOver: (workId) => ask(() => table.handOver(owner, workId)),
    renew: (workIds) => ask(() => table.renew(owner, workIds)),
    // Nothing that a call waits for is part of the simulation.
    insertTaken: async () => null,
    dueCount: async () => 0,
    backlog: async () => ({ due: 0, dueSince: null, parked: 0, parkedSince: null }),
    nextDue: async () => null,
    names: async () => [],
    list: async () => noRows,
    find: async () => null,
    named: async () => null,
    dropParked: async () => false,
    retry: async () => false,
  }
}

/** Every read model of the simulation. */
export const MODELS = ["charges", "accounts", "jobs", "late jobs"] as const

/** The name of a read model. */
export type Model = (typeof MODELS)[number]

/** A read model that writes its position somewhere else than its rows, to see that this is found. */
export interface DatabaseFlaws {
  readonly keepsPositionsApart?: boolean
}

/** The database of a run. */
export class Database {
  readonly checkpoints: Checkpoints = openMemoryCheckpoints()
  readonly claims: Claims = openMemoryClaims()
  readonly work: WorkTable
  /** The plain read models' rows. */
  readonly rows: Readonly<Record<PlainModel, Rows>> = { charges: new Map(), accounts: new Map() }
  readonly #flaws: DatabaseFlaws
  readonly #positions = new Map<Model, Position>()
  readonly #held = new Map<string, Owner>()

  constructor(now: () => number, flaws: DatabaseFlaws) {
    this.work = new WorkTable(now)
    this.#flaws = flaws
  }

  /** How far a read model came. */
  positionOf(model: Model): Position {
    return this.#positions.get(model) ?? START
  }

  /**
   * Folds events into a read model and stores its position with the rows; events that it has already
   * are passed over. False where it stands elsewhere than its writer thinks: nothing is changed.
   */
  async write(model: Model, known: Position, events: readonly StoredEvent[]): Promise<boolean> {
    const position = this.positionOf(model)
    if (comparePositions(position, known) !== 0) return false
    const news = events.filter((event) => comparePositions(event.position, position) > 0)
    const last = news.at(-1)
    if (last === undefined) return true
    if (isPlain(model)) fold(model, this.rows[model], news)
    else await this.#writeWork(model, news)
    if (this.#flaws.keepsPositionsApart !== true) this.#positions.set(model, last.position)
    return true
  }

  async #writeWork(model: Model, news: readonly StoredEvent[]): Promise<void> {
    const rows = PROGRAM.workRows.find(({ name }) => name === model)
    if (rows === undefined) throw new RangeError(`there is no read model ${model}`)
    const facts = news
      .map(PROGRAM.streams.recorded)
      .filter(({ category }) => rows.categories.includes(category))
    // The projection takes a transaction, and uses no more of it than that it is asked.
    await rows.apply(this.work.sql as Transaction<unknown>, facts, { open: async () => null })
  }

  /** Stores a position without rows, unless the read model stands elsewhere than its writer thinks. */
  moveTo(model: Model, known: Position, to: Position): boolean {
    if (comparePositions(this.positionOf(model), known) !== 0) return false
    if (comparePositions(to, known) > 0) this.#positions.set(model, to)
    return true
  }

  /** Takes a lock for somebody where nobody alive has it. */
  take(name: string, owner: Owner): boolean {
    if (this.#held.get(name)?.isAlive === true) return false
    this.#held.set(name, owner)
    return true
  }

  /** Whether somebody has a lock. */
  has(name: string, owner: Owner): boolean {
    return this.#held.get(name) === owner
  }

  /** Gives a lock back, where it is still theirs. */
  release(name: string, owner: Owner): void {
    if (this.has(name, owner)) this.#held.delete(name)
  }

  /** All locks are lost, and nobody is told. */
  loseLocks(): void {
    this.#held.clear()
  }
}
