/**
 * What follows from facts, as rows for the workers: the one table of reactions and timers.
 *
 * A row is a hint that may come twice; the deciders have the last word. It is no read model: rows
 * go away when they are done, so it is never rebuilt. Payloads carry ids and sealed text only.
 */
import type { Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { ColumnTypes } from "./columns.ts"
import { sqlArray, insertRows } from "./columns.ts"
import type { FactSelection, Projection, ProjectedFact } from "./projection.ts"

/** The name of the projection that writes the rows. */
export const JOBS_PROJECTION = "jobs"
/** That of the one that writes those which are due late: most of these have ended before anybody writes them. */
export const DELAYED_JOBS_PROJECTION = "late jobs"

/** Rows are to be done: they wait no longer than this. */
const JOBS_BUFFER_MS = 20
/** What is due minutes later may wait as long as the work of most charges takes, and a good deal longer. */
const DELAYED_JOBS_BUFFER_MS = 2_000

/** Something to be done. */
export interface JobToEnqueue {
  readonly kind: string
  /** Unique within the kind: the same name again is the same work. */
  readonly name: string
  /** Work on one subject is done in order, one at a time. */
  readonly subject: string
  readonly companyId: CompanyId | null
  readonly payload: object
  /** By the ledger's clock, UTC milliseconds. */
  readonly dueAt: number
  /** The trace of the fact that it follows from. */
  readonly trace?: string
}

/** Work that nobody waits for any more. */
export type CancelledJob = Pick<JobToEnqueue, "kind" | "name">

/** What follows from a fact, and what of it has ended. */
export interface JobRules {
  readonly jobsToEnqueue: (recorded: ProjectedFact) => readonly JobToEnqueue[]
  readonly jobsToCancel: (recorded: ProjectedFact) => readonly CancelledJob[]
}

/** The projection that writes what follows from facts of these categories. */
export function jobsProjection(
  name: typeof JOBS_PROJECTION | typeof DELAYED_JOBS_PROJECTION,
  { jobsToEnqueue: itemsOf, jobsToCancel: endedBy }: JobRules,
  facts: FactSelection,
): Projection {
  return {
    name,
    version: 1,
    bufferMs: name === JOBS_PROJECTION ? JOBS_BUFFER_MS : DELAYED_JOBS_BUFFER_MS,
    ...facts,
    tables: [],
    create: "",
    apply: async (tx: Transaction<unknown>, batch) => {
      const items = new Map<string, JobToEnqueue>()
      const ended: CancelledJob[] = []
      for (const recorded of batch) {
        for (const item of itemsOf(recorded)) items.set(`${item.kind} ${item.name}`, item)
        for (const end of endedBy(recorded)) {
          if (!items.delete(`${end.kind} ${end.name}`)) ended.push(end)
        }
      }
      // What ended first: a charge of the same name may have begun anew after it.
      if (ended.length > 0) await deleteJobs(tx, ended)
      if (items.size > 0) await insertJobs(tx, [...items.values()])
    },
  }
}

async function deleteJobs(tx: Transaction<unknown>, ended: readonly CancelledJob[]): Promise<void> {
  for (const kind of new Set(ended.map((one) => one.kind))) {
    const names = ended.filter((one) => one.kind === kind).map(({ name }) => name)
    await sql`
      delete from ledger.jobs
      where kind = ${kind} and name = any(${sqlArray("text", names)})`.execute(tx)
  }
}

interface JobRow {
  readonly kind: string
  readonly name: string
  readonly subject: string
  readonly company_id: CompanyId | null
  readonly payload: string
  readonly due_at: Date
  readonly trace: string | null
}

const JOB_COLUMNS: ColumnTypes<JobRow> = {
  kind: "text",
  name: "text",
  subject: "text",
  company_id: "text",
  payload: "text",
  due_at: "timestamptz",
  trace: "text",
}

function rowOf({ payload, dueAt, trace, companyId, ...named }: JobToEnqueue): JobRow {
  const { kind, name, subject } = named
  const [text, due_at] = [JSON.stringify(payload), new Date(dueAt)]
  return { kind, name, subject, company_id: companyId, payload: text, due_at, trace: trace ?? null }
}

/** Adds work; what is there already under the same kind and name stays as it is. */
async function insertJobs(tx: Transaction<unknown>, items: readonly JobToEnqueue[]): Promise<void> {
  const isThere = sql`on conflict (kind, name) do nothing`
  await insertRows(tx, "ledger.jobs", JOB_COLUMNS, items.map(rowOf), isThere)
}
