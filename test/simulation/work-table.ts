/** The queue of work in memory: what a projection writes, and what workers take. */
import type { CompiledQuery, Kysely } from "kysely"
import type { ListedWork, TakenWork, WorkQueue, WorkResult } from "../../adapters/work/port.ts"
import type { Owner } from "./schedule.ts"
import { elementsOf, kyselyAnswering, lineOf } from "./sql.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"

/** A row that was taken and not settled may be taken again after this: its taker may be dead. */
const LEASE_MS = 5_000
/** Mail and the payment processor are no part of the simulation. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "send-reminder",
  "send-funds-notice",
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
export class WorkTable {
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
    if (statement.startsWith("delete from ledger.work where kind = $1 and name = any($2")) {
      const [kind, listed] = query.parameters
      const names = elementsOf(listed)
      for (const row of this.rows()) {
        if (row.kind === kind && names.includes(row.name)) this.#rows.delete(row.workId)
      }
      return
    }
    if (!statement.startsWith('insert into "ledger"."work" ("kind", "name", "subject"')) {
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
    return (other.workId < row.workId && other.dueAt <= now) || !this.#isFree(other as Row)
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
