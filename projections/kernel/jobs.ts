/**
 * Enqueues the jobs that follow from events, in the table of reactions and timers.
 *
 * A job may be executed twice; deciders make that harmless. The table is not a read model: finished jobs are
 * deleted, so it is never rebuilt. Payloads have only ids and sealed text.
 */
import type { Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { ColumnTypes } from "./columns.ts"
import { sqlArray, insertRows } from "./columns.ts"
import type { FactSelection, Projection, ProjectedFact } from "./projection.ts"

/** The name of the projection that enqueues jobs. */
export const JOBS_PROJECTION = "jobs"
/** The name of the projection that enqueues delayed jobs, most of which are canceled before they are written. */
export const DELAYED_JOBS_PROJECTION = "late jobs"

/** Jobs are wanted immediately, so they are buffered briefly. */
const JOBS_BUFFER_MS = 20
/**
 * Delayed jobs are due minutes later; buffering them longer than most pending charges last avoids writing most of
 * them.
 */
const DELAYED_JOBS_BUFFER_MS = 2_000

export interface JobToEnqueue {
  readonly kind: string
  /** Unique within the kind: the same name is the same job. */
  readonly name: string
  /** Jobs of one subject run in order, one at a time. */
  readonly subject: string
  readonly companyId: CompanyId | null
  readonly payload: object
  /** By the ledger's clock, UTC milliseconds. */
  readonly dueAt: number
  /** The trace of the event that caused the job. */
  readonly trace?: string
}

/** A job that is no longer needed. */
export type CanceledJob = Pick<JobToEnqueue, "kind" | "name">

/** The jobs that follow from an event, and those that it cancels. */
export interface JobRules {
  readonly jobsToEnqueue: (recorded: ProjectedFact) => readonly JobToEnqueue[]
  readonly jobsToCancel: (recorded: ProjectedFact) => readonly CanceledJob[]
}

/** Builds a projection that enqueues the jobs of the selected events. */
export function jobsProjection(
  name: typeof JOBS_PROJECTION | typeof DELAYED_JOBS_PROJECTION,
  { jobsToEnqueue, jobsToCancel }: JobRules,
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
      const jobs = new Map<string, JobToEnqueue>()
      const canceled: CanceledJob[] = []
      for (const recorded of batch) {
        for (const job of jobsToEnqueue(recorded)) jobs.set(`${job.kind} ${job.name}`, job)
        for (const job of jobsToCancel(recorded)) {
          if (!jobs.delete(`${job.kind} ${job.name}`)) canceled.push(job)
        }
      }
      // Deletions first: a charge with the same name may have started again afterwards.
      if (canceled.length > 0) await deleteJobs(tx, canceled)
      if (jobs.size > 0) await insertJobs(tx, [...jobs.values()])
    },
  }
}

async function deleteJobs(
  tx: Transaction<unknown>,
  canceled: readonly CanceledJob[],
): Promise<void> {
  for (const kind of new Set(canceled.map((job) => job.kind))) {
    const names = canceled.filter((job) => job.kind === kind).map(({ name }) => name)
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

/** Enqueues jobs; existing ones with the same kind and name are unchanged. */
async function insertJobs(tx: Transaction<unknown>, jobs: readonly JobToEnqueue[]): Promise<void> {
  const onConflict = sql`on conflict (kind, name) do nothing`
  await insertRows(tx, "ledger.jobs", JOB_COLUMNS, jobs.map(rowOf), onConflict)
}
