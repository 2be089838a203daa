import type { Pool } from "pg"
import { batchCalls } from "../../machine/promises.ts"
import type { WorkerSlot } from "../home-worker.ts"
import { homeWorkerSql } from "../home-worker.ts"
import type { Processes } from "../leases/port.ts"
import { inTransaction } from "../projector/tables.ts"
import type { Backlog, JobKindLimit, JobQueue, JobResult, ListedJob, ClaimedJob } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../../domain/kernel/ids.ts"

const MAX_BATCH = 500
const DELETE_DONE = "delete from ledger.jobs where job_id = any($1::bigint[])"

/** Two subqueries, so that each uses an index of its own. */
const BACKLOG = `
  select d.due, d.since as "dueSince", p.stuck, p.since as "stuckSince" from
    (select count(*) as due, extract(epoch from min(due_at))::float8 * 1000 as since
     from ledger.jobs where stuck is null and due_at <= to_timestamp($1::float8 / 1000)) d,
    (select count(*) as stuck, extract(epoch from min(due_at))::float8 * 1000 as since
     from ledger.jobs where stuck is not null) p`

const SINGLE_WORKER: WorkerSlot = { number: 1, total: 1 }

/** Opens the queue in the table `ledger.jobs`. */
export function openPostgresJobQueue(
  pool: Pool,
  processes: Processes,
  { number: workerNumber, total: workerCount }: WorkerSlot = SINGLE_WORKER,
): JobQueue {
  const deleteDone = batchCalls<number, void>(MAX_BATCH, async (jobIds) => {
    await pool.query({ name: "jobs-delete-done", text: DELETE_DONE, values: [jobIds] })
    return jobIds.map(() => undefined)
  })
  const dispatchBatch = batchCalls<number, boolean>(MAX_BATCH, async (jobIds) => {
    const values = [jobIds, processes.ownId]
    const { rows } = await pool.query<Row>({ name: "jobs-dispatch", text: DISPATCH, values })
    const dispatched = new Set(rows.map((row) => row.job_id))
    return jobIds.map((jobId) => dispatched.has(jobId))
  })
  return {
    claim: async (now, limit, limits = []) => {
      const values = [
        now,
        limit,
        processes.ownId,
        limits.map(({ kind }) => kind),
        workerCount,
        workerNumber,
      ]
      const { rows } = await pool.query<Row>({ name: "jobs-claim", text: CLAIM, values })
      const claimed = [...rows]
      let shared = 0
      const waitingKinds =
        claimed.length < limit ? await readWaitingKinds(pool, now, limits) : new Set()
      for (const kindLimit of limits.filter(({ kind }) => waitingKinds.has(kind))) {
        if (claimed.length >= limit) break
        const { sharedPerProcess } = kindLimit
        const freeSlots = Math.min(
          limit - claimed.length,
          sharedPerProcess === null ? limit : sharedPerProcess - shared,
        )
        const found = await claimLimited(pool, processes.ownId, now, freeSlots, kindLimit)
        if (sharedPerProcess !== null) shared += found.length
        claimed.push(...found)
      }
      return claimed.map(toClaimedJob)
    },
    enqueueClaimed: async ({ kind, name, subject, companyId, payload, dueAt, trace = null }) => {
      const payloadJson = JSON.stringify(payload)
      const { rows } = await pool.query<Row>({
        name: "jobs-enqueue-claimed",
        text: ENQUEUE_CLAIMED,
        values: [kind, name, subject, companyId, payloadJson, dueAt, processes.ownId, trace],
      })
      const [row] = rows
      return row === undefined ? null : toClaimedJob(row)
    },
    renewLeases: async (jobIds) => {
      const { rows } = await pool.query<Row>(RENEW, [jobIds, processes.ownId])
      return rows.map((row) => row.job_id)
    },
    dispatch: (jobId) => dispatchBatch(jobId),
    releaseExcept: async (knownJobIds) => {
      await pool.query(
        `update ledger.jobs set process_id = null, leased_until = null
         where process_id = $1 and not (job_id = any($2::bigint[]))`,
        [processes.ownId, knownJobIds],
      )
    },
    settle: async (jobId, result) => {
      // Another process may have claimed the job after the lease expired: it is done all the same.
      if (result.result === "done") await deleteDone(jobId)
      else await settleUnfinished(pool, processes.ownId, jobId, result)
    },
    ...openSchedule(pool),
    ...openOperatorQueue(pool),
  }
}

function openSchedule(pool: Pool): Pick<JobQueue, "countDue" | "backlog" | "findNextDue"> {
  return {
    backlog: async (now) => {
      const { rows } = await pool.query<Backlog>(BACKLOG, [now])
      return rows[0] as Backlog
    },
    countDue: async (now) => {
      const { rows } = await pool.query<{ count: number }>(
        `select count(*) from ledger.jobs w
         where stuck is null and due_at <= to_timestamp($1::float8 / 1000)
           and (retry_at is null or retry_at <= clock_timestamp())
           and not exists (
             select 1 from ledger.jobs earlier
             where earlier.subject = w.subject and earlier.job_id < w.job_id
               and earlier.stuck is null
               and earlier.due_at <= to_timestamp($1::float8 / 1000)
               and earlier.retry_at > clock_timestamp())`,
        [now],
      )
      return rows[0]?.count ?? 0
    },
    findNextDue: async (now, until) => {
      const { rows } = await pool.query<{ due: number | null }>(
        `select ceil(extract(epoch from min(due_at)) * 1000)::bigint as due from ledger.jobs
         where stuck is null and due_at > to_timestamp($1::float8 / 1000)
           and due_at <= to_timestamp($2::float8 / 1000)`,
        [now, until],
      )
      return rows[0]?.due ?? null
    },
  }
}

/** The limited kinds with a due job. Usually there is none, and no lock is needed. */
async function readWaitingKinds(
  pool: Pool,
  now: number,
  limits: readonly JobKindLimit[],
): Promise<ReadonlySet<string>> {
  if (limits.length === 0) return new Set()
  const values = [now, limits.map(({ kind }) => kind)]
  const query = { name: "jobs-waiting-kinds", text: WAITING_KINDS, values }
  const { rows } = await pool.query<Pick<Row, "kind">>(query)
  return new Set(rows.map(({ kind }) => kind))
}

async function claimLimited(
  pool: Pool,
  ownId: string,
  now: number,
  freeSlots: number,
  { kind, perProcess, perMachine, perCompany }: JobKindLimit,
): Promise<readonly Row[]> {
  const found: Row[] = []
  while (found.length < Math.min(freeSlots, perProcess)) {
    const row = await inTransaction(pool, async (client) => {
      await client.query("select pg_advisory_xact_lock(hashtext($1))", [`work ${kind}`])
      const values = [now, kind, ownId, perCompany, perMachine]
      return (await client.query<Row>(CLAIM_LIMITED, values)).rows[0]
    })
    if (row === undefined) break
    found.push(row)
  }
  return found
}

/** Records an outcome other than `done`, unless another process has claimed the job. */
async function settleUnfinished(
  pool: Pool,
  ownId: string,
  jobId: number,
  result: Exclude<JobResult, { readonly result: "done" }>,
): Promise<void> {
  switch (result.result) {
    case "rescheduled":
      await pool.query(
        `update ledger.jobs
         set due_at = to_timestamp($2::float8 / 1000), kind = coalesce($3, kind),
             subject = coalesce($4, subject), process_id = null, leased_until = null,
             retry_at = null, attempts = 0,
             dispatched_at = case when $6 then null else dispatched_at end
         where job_id = $1 and process_id = $5`,
        [
          jobId,
          result.dueAt,
          result.kind ?? null,
          result.subject ?? null,
          ownId,
          result.isDispatchCleared === true,
        ],
      )
      return
    case "retry":
      await pool.query(
        `update ledger.jobs
         set retry_at = clock_timestamp() + $2 * interval '1 millisecond',
             process_id = null, leased_until = null,
             dispatched_at = case when $4 then null else dispatched_at end
         where job_id = $1 and process_id = $3`,
        [jobId, result.afterMs, ownId, result.isDispatchCleared === true],
      )
      return
    case "released":
      await pool.query(
        `update ledger.jobs
         set process_id = null, leased_until = null, attempts = greatest(0, attempts - 1),
             dispatched_at = case when $3 then null else dispatched_at end
         where job_id = $1 and process_id = $2`,
        [jobId, ownId, result.isDispatchCleared === true],
      )
      return
    case "stuck":
      await pool.query(
        `update ledger.jobs set stuck = $2, process_id = null, leased_until = null
         where job_id = $1 and process_id = $3`,
        [jobId, result.reason, ownId],
      )
  }
}

function openOperatorQueue(
  pool: Pool,
): Pick<JobQueue, "listNames" | "list" | "find" | "findByName" | "discard" | "retry"> {
  return {
    listNames: async (kind) => {
      const { rows } = await pool.query<{ name: string }>(
        "select name from ledger.jobs where kind = $1",
        [kind],
      )
      return rows.map((row) => row.name)
    },
    list: async (limit) => {
      const { rows } = await pool.query<Row>(
        "select * from ledger.jobs order by stuck is null, due_at, job_id limit $1",
        [limit],
      )
      return rows.map(toListedJob)
    },
    find: async (jobId) => {
      const { rows } = await pool.query<Row>("select * from ledger.jobs where job_id = $1", [jobId])
      const [row] = rows
      return row === undefined ? null : { ...toClaimedJob(row), ...toListedJob(row) }
    },
    findByName: async (kind, name) => {
      const { rows } = await pool.query<Row>(
        "select * from ledger.jobs where kind = $1 and name = $2",
        [kind, name],
      )
      const [row] = rows
      return row === undefined ? null : { ...toClaimedJob(row), ...toListedJob(row) }
    },
    discard: async (jobId) => {
      const { rowCount } = await pool.query(
        "delete from ledger.jobs where job_id = $1 and stuck is not null",
        [jobId],
      )
      return rowCount === 1
    },
    retry: async (jobId, now, isEarly) => {
      const { rowCount } = await pool.query(
        `update ledger.jobs
         set stuck = null, retry_at = null, attempts = 0,
             due_at = least(due_at, to_timestamp($2::float8 / 1000))
         where job_id = $1 and ($3 or due_at <= to_timestamp($2::float8 / 1000))`,
        [jobId, now, isEarly],
      )
      return rowCount === 1
    },
  }
}

/**
 * A job is claimable if it is due and free, and no job of its subject is earlier and unfinished or
 * claimed by any process.
 */
const IS_CLAIMABLE = `
      stuck is null and due_at <= to_timestamp($1::float8 / 1000)
      and (retry_at is null or retry_at <= clock_timestamp())
      and (process_id is null or leased_until < clock_timestamp())
      and not exists (
        select 1 from ledger.jobs other
        where other.subject = w.subject and other.job_id <> w.job_id
          and other.stuck is null
          and (other.job_id < w.job_id and other.due_at <= to_timestamp($1::float8 / 1000)
            or other.process_id is not null and other.leased_until >= clock_timestamp()))`

const CLAIM_NEXT = `
  update ledger.jobs w
  set process_id = $3, leased_until = clock_timestamp() + interval '60 seconds', attempts = attempts + 1
  from next where w.job_id = next.job_id
  returning w.job_id, w.kind, w.name, w.subject, w.company_id, w.payload, w.attempts,
    w.dispatched_at, w.trace`

/** How long jobs wait for their company's home worker until any worker may claim them. */
const HOME_FIRST = "interval '2 seconds'"

/**
 * Claims jobs and skips rows locked by other workers. Each worker of a machine prefers companies
 * whose home worker it is, because two writers of one ledger conflict.
 */
const CLAIM = `
  with next as (
    select job_id from ledger.jobs w
    where ${IS_CLAIMABLE}
      and not (kind = any($4::text[]))
      and ($5::int = 1 or company_id is null
        or ${homeWorkerSql("company_id", "$5")} = $6::int
        or due_at <= to_timestamp($1::float8 / 1000) - ${HOME_FIRST})
    order by due_at, job_id
    limit $2
    for update skip locked)
  ${CLAIM_NEXT}`

/** The limited kinds with a job that is due and not claimed, even if it is not claimable. */
const WAITING_KINDS = `
  select distinct kind from ledger.jobs
  where kind = any($2::text[])
    and stuck is null and due_at <= to_timestamp($1::float8 / 1000)
    and (process_id is null or leased_until < clock_timestamp())`

const COUNT_CLAIMED = `
        select count(*) from ledger.jobs held
        where held.kind = w.kind
          and held.process_id is not null and held.leased_until >= clock_timestamp()`

const OF_THIS_MACHINE = `
            select process_id from ledger.processes
            where machine = (select machine from ledger.processes where process_id = $3)`

/** The next job of a kind with limits. Callers hold a lock per kind, so that counts are exact. */
const CLAIM_LIMITED = `
  with next as (
    select job_id from ledger.jobs w
    where kind = $2 and ${IS_CLAIMABLE}
      and ($4::int is null or $4::int > (${COUNT_CLAIMED}
          and held.company_id is not distinct from w.company_id))
      and ($5::int is null or $5::int > (${COUNT_CLAIMED}
          and held.process_id in (${OF_THIS_MACHINE})))
    order by due_at, job_id
    limit 1
    for update)
  ${CLAIM_NEXT}`

const ENQUEUE_CLAIMED = `
  insert into ledger.jobs
    (kind, name, subject, company_id, payload, due_at, attempts, process_id, leased_until, trace)
  values ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), 1, $7,
    clock_timestamp() + interval '60 seconds', $8)
  on conflict (kind, name) do nothing
  returning job_id, kind, name, subject, company_id, payload, attempts, dispatched_at, trace`

const RENEW = `
  update ledger.jobs set leased_until = clock_timestamp() + interval '60 seconds'
  where job_id = any($1::bigint[]) and process_id = $2
  returning job_id`

const DISPATCH = `
  update ledger.jobs
  set dispatched_at = clock_timestamp(),
      leased_until = clock_timestamp() + interval '60 seconds'
  where job_id = any($1::bigint[]) and process_id = $2
  returning job_id`

interface Row {
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

function companyOf({ company_id: companyId }: Row): CompanyId | null {
  return companyId === null ? null : parseCompanyId(companyId)
}

function toClaimedJob(row: Row): ClaimedJob {
  return {
    jobId: row.job_id,
    kind: row.kind,
    name: row.name,
    subject: row.subject,
    companyId: companyOf(row),
    payload: JSON.parse(row.payload) as unknown,
    attempts: row.attempts,
    isDispatched: row.dispatched_at !== null,
    trace: row.trace,
  }
}

const isWaiting = (row: Row): boolean => row.process_id === null && row.stuck === null

function toListedJob(row: Row): ListedJob {
  return {
    jobId: row.job_id,
    kind: row.kind,
    name: row.name,
    companyId: companyOf(row),
    dueAt: row.due_at.toISOString(),
    attempts: row.attempts,
    retryAt: isWaiting(row) ? (row.retry_at?.toISOString() ?? null) : null,
    running: row.process_id !== null,
    stuck: row.stuck,
  }
}
