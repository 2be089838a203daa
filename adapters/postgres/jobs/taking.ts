/** The statements by which rows are taken and held. */
import { homeInSql } from "../homes.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../../domain/kernel/ids.ts"
import type { ListedWork, TakenWork } from "./port.ts"

/**
 * Whether a row may be taken: it is due, free, with nothing earlier of the same subject still to do and
 * nothing of it in anybody's hands, in whatever process.
 */
const IS_FREE = `
      stuck is null and due_at <= to_timestamp($1::float8 / 1000)
      and (retry_at is null or retry_at <= clock_timestamp())
      and (process_id is null or leased_until < clock_timestamp())
      and not exists (
        select 1 from ledger.jobs other
        where other.subject = w.subject and other.job_id <> w.job_id
          and other.stuck is null
          and (other.job_id < w.job_id and other.due_at <= to_timestamp($1::float8 / 1000)
            or other.process_id is not null and other.leased_until >= clock_timestamp()))`

const HOLD_NEXT = `
  update ledger.jobs w
  set process_id = $3, leased_until = clock_timestamp() + interval '60 seconds', attempts = attempts + 1
  from next where w.job_id = next.job_id
  returning w.job_id, w.kind, w.name, w.subject, w.company_id, w.payload, w.attempts,
    w.dispatched_at, w.trace`

/** What a company's home leaves for so long is taken by any process. */
const HOME_FIRST = "interval '2 seconds'"

/**
 * Rows to take. What is locked by another worker is skipped. Of several processes of a machine each takes
 * what belongs to companies that are at home in it: two writers of one ledger would be in each other's way.
 */
export const TAKE = `
  with next as (
    select job_id from ledger.jobs w
    where ${IS_FREE}
      and not (kind = any($4::text[]))
      and ($5::int = 1 or company_id is null
        or ${homeInSql("company_id", "$5")} = $6::int
        or due_at <= to_timestamp($1::float8 / 1000) - ${HOME_FIRST})
    order by due_at, job_id
    limit $2
    for update skip locked)
  ${HOLD_NEXT}`

/** Of some kinds those with a row that is due and in nobody's hands, whatever else holds it up. */
export const WAITING_KINDS = `
  select distinct kind from ledger.jobs
  where kind = any($2::text[])
    and stuck is null and due_at <= to_timestamp($1::float8 / 1000)
    and (process_id is null or leased_until < clock_timestamp())`

/** Rows of the same kind that somebody has in hand. */
const HELD = `
        select count(*) from ledger.jobs held
        where held.kind = w.kind
          and held.process_id is not null and held.leased_until >= clock_timestamp()`

/** The processes that run where this one does. */
const OF_THIS_MACHINE = `
            select process_id from ledger.processes
            where machine = (select machine from ledger.processes where process_id = $3)`

/**
 * The next row of a kind of which only so many may be in hand. Who takes one takes turns with all others
 * who do, so that two do not count the same.
 */
export const TAKE_BOUNDED = `
  with next as (
    select job_id from ledger.jobs w
    where kind = $2 and ${IS_FREE}
      and ($4::int is null or $4::int > (${HELD}
          and held.company_id is not distinct from w.company_id))
      and ($5::int is null or $5::int > (${HELD}
          and held.process_id in (${OF_THIS_MACHINE})))
    order by due_at, job_id
    limit 1
    for update)
  ${HOLD_NEXT}`

/** Adds a row and takes it, unless it is there. */
export const INSERT_TAKEN = `
  insert into ledger.jobs
    (kind, name, subject, company_id, payload, due_at, attempts, process_id, leased_until, trace)
  values ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), 1, $7,
    clock_timestamp() + interval '60 seconds', $8)
  on conflict (kind, name) do nothing
  returning job_id, kind, name, subject, company_id, payload, attempts, dispatched_at, trace`

/** Holds rows for another minute. */
export const RENEW = `
  update ledger.jobs set leased_until = clock_timestamp() + interval '60 seconds'
  where job_id = any($1::bigint[]) and process_id = $2
  returning job_id`

/** Says that rows are about to go to a provider, and holds them for another minute. */
export const HAND_OVER = `
  update ledger.jobs
  set dispatched_at = clock_timestamp(),
      leased_until = clock_timestamp() + interval '60 seconds'
  where job_id = any($1::bigint[]) and process_id = $2
  returning job_id`

/** What of the table `ledger.jobs` is read. */
export interface Row {
  readonly job_id: number
  readonly kind: string
  readonly name: string
  readonly subject: string
  readonly company_id: string | null
  readonly payload: string
  readonly attempts: number
  readonly due_at: Date
  readonly retry_at: Date | null
  readonly stuck: string | null
  readonly process_id: string | null
  readonly dispatched_at: Date | null
  readonly trace: string | null
}

function companyIn({ company_id: companyId }: Row): CompanyId | null {
  return companyId === null ? null : parseCompanyId(companyId)
}

/** A row as whoever works at it has it. */
export function taken(row: Row): TakenWork {
  return {
    workId: row.job_id,
    kind: row.kind,
    name: row.name,
    subject: row.subject,
    companyId: companyIn(row),
    payload: JSON.parse(row.payload) as unknown,
    tries: row.attempts,
    isHandedOver: row.dispatched_at !== null,
    trace: row.trace,
  }
}

/** Whether nobody has it in hand, neither a process nor an operator. */
const isWaiting = (row: Row): boolean => row.process_id === null && row.stuck === null

/** A row as an operator reads it. */
export function listed(row: Row): ListedWork {
  return {
    workId: row.job_id,
    kind: row.kind,
    name: row.name,
    companyId: companyIn(row),
    dueAt: row.due_at.toISOString(),
    tries: row.attempts,
    nextTryAt: isWaiting(row) ? (row.retry_at?.toISOString() ?? null) : null,
    running: row.process_id !== null,
    parked: row.stuck,
  }
}
