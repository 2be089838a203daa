import type { Pool } from "pg"
import { batchCalls } from "../../machine/promises.ts"
import type { WorkerSlot } from "../home-worker.ts"
import { homeWorkerSql } from "../home-worker.ts"
import type { Processes } from "../leases/port.ts"
import { inTransaction } from "../projector/tables.ts"
import type { Backlog, JobKindLimit, JobQueue, JobResult, ListedJob, ClaimedJob } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../../domain/kernel/ids.ts"

/** So many rows that are done are deleted together. */
const MAX_BATCH = 500
const DELETE_DONE = "delete from ledger.jobs where job_id = any($1::bigint[])"

/** Two looks, each at an index of its own. */
const BACKLOG = `
  select d.due, d.since as "dueSince", p.stuck, p.since as "stuckSince" from
    (select count(*) as due, extract(epoch from min(due_at))::float8 * 1000 as since
     from ledger.jobs where stuck is null and due_at <= to_timestamp($1::float8 / 1000)) d,
    (select count(*) as stuck, extract(epoch from min(due_at))::float8 * 1000 as since
     from ledger.jobs where stuck is not null) p`

/** Where there is one process to a machine. */
const SINGLE_WORKER: WorkerSlot = { number: 1, total: 1 }

/** The queue in the table `ledger.jobs`. */
export function openPostgresJobQueue(
  pool: Pool,
  processes: Processes,
  { number, total: of }: WorkerSlot = SINGLE_WORKER,
): JobQueue {
  const drop = batchCalls<number, void>(MAX_BATCH, async (workIds) => {
    await pool.query({ name: "work-done", text: DELETE_DONE, values: [workIds] })
    return workIds.map(() => undefined)
  })
  const handOver = batchCalls<number, boolean>(MAX_BATCH, async (workIds) => {
    const values = [workIds, processes.ownId]
    const { rows } = await pool.query<Row>({ name: "work-hand-over", text: DISPATCH, values })
    const handedOver = new Set(rows.map((row) => row.job_id))
    return workIds.map((workId) => handedOver.has(workId))
  })
  return {
    claim: async (now, limit, bounds = []) => {
      const values = [now, limit, processes.ownId, bounds.map(({ kind }) => kind), of, number]
      const { rows } = await pool.query<Row>({ name: "work-take", text: CLAIM, values })
      const free = [...rows]
      let shared = 0
      const waiting = free.length < limit ? await readWaitingKinds(pool, now, bounds) : new Set()
      for (const bound of bounds.filter(({ kind }) => waiting.has(kind))) {
        if (free.length >= limit) break
        const { sharedPerProcess } = bound
        const room = Math.min(
          limit - free.length,
          sharedPerProcess === null ? limit : sharedPerProcess - shared,
        )
        const found = await claimLimited(pool, processes.ownId, now, room, bound)
        if (sharedPerProcess !== null) shared += found.length
        free.push(...found)
      }
      return free.map(toClaimedJob)
    },
    enqueueClaimed: async ({ kind, name, subject, companyId, payload, dueAt, trace = null }) => {
      const carried = JSON.stringify(payload)
      const { rows } = await pool.query<Row>({
        name: "work-insert-taken",
        text: ENQUEUE_CLAIMED,
        values: [kind, name, subject, companyId, carried, dueAt, processes.ownId, trace],
      })
      const [row] = rows
      return row === undefined ? null : toClaimedJob(row)
    },
    renewLeases: async (workIds) => {
      const { rows } = await pool.query<Row>(RENEW, [workIds, processes.ownId])
      return rows.map((row) => row.job_id)
    },
    dispatch: (workId) => handOver(workId),
    releaseExcept: async (inHand) => {
      await pool.query(
        `update ledger.jobs set process_id = null, leased_until = null
         where process_id = $1 and not (job_id = any($2::bigint[]))`,
        [processes.ownId, inHand],
      )
    },
    settle: async (workId, result) => {
      // A row whose lease ran out may be another process's by now: that it is done counts all the same.
      if (result.result === "done") await drop(workId)
      else await settleUnfinished(pool, processes.ownId, workId, result)
    },
    ...openSchedule(pool),
    ...openOperatorQueue(pool),
  }
}

/** How many rows are due, and when the next one is. */
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

/** The bounded kinds of which a row is due: most of the time there is none, and nobody has to take turns. */
async function readWaitingKinds(
  pool: Pool,
  now: number,
  bounds: readonly JobKindLimit[],
): Promise<ReadonlySet<string>> {
  if (bounds.length === 0) return new Set()
  const values = [now, bounds.map(({ kind }) => kind)]
  const query = { name: "work-waiting-kinds", text: WAITING_KINDS, values }
  const { rows } = await pool.query<Pick<Row, "kind">>(query)
  return new Set(rows.map(({ kind }) => kind))
}

/** Takes rows of a bounded kind, one at a time. */
async function claimLimited(
  pool: Pool,
  own: string,
  now: number,
  room: number,
  { kind, perProcess, perMachine, perCompany }: JobKindLimit,
): Promise<readonly Row[]> {
  const found: Row[] = []
  while (found.length < Math.min(room, perProcess)) {
    const row = await inTransaction(pool, async (client) => {
      await client.query("select pg_advisory_xact_lock(hashtext($1))", [`work ${kind}`])
      const values = [now, kind, own, perCompany, perMachine]
      return (await client.query<Row>(CLAIM_LIMITED, values)).rows[0]
    })
    if (row === undefined) break
    found.push(row)
  }
  return found
}

/** What becomes of a row that is not done, unless it is another process's by now. */
async function settleUnfinished(
  pool: Pool,
  own: string,
  workId: number,
  result: Exclude<JobResult, { readonly result: "done" }>,
): Promise<void> {
  switch (result.result) {
    case "later":
      await pool.query(
        `update ledger.jobs
         set due_at = to_timestamp($2::float8 / 1000), kind = coalesce($3, kind),
             subject = coalesce($4, subject), process_id = null, leased_until = null,
             retry_at = null, attempts = 0,
             dispatched_at = case when $6 then null else dispatched_at end
         where job_id = $1 and process_id = $5`,
        [
          workId,
          result.dueAt,
          result.kind ?? null,
          result.subject ?? null,
          own,
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
        [workId, result.afterMs, own, result.isDispatchCleared === true],
      )
      return
    case "let go":
      await pool.query(
        `update ledger.jobs
         set process_id = null, leased_until = null, attempts = greatest(0, attempts - 1),
             dispatched_at = case when $3 then null else dispatched_at end
         where job_id = $1 and process_id = $2`,
        [workId, own, result.isDispatchCleared === true],
      )
      return
    case "park":
      await pool.query(
        `update ledger.jobs set stuck = $2, process_id = null, leased_until = null
         where job_id = $1 and process_id = $3`,
        [workId, result.reason, own],
      )
  }
}

/** What an operator sees of the queue and does to it. */
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
    find: async (workId) => {
      const { rows } = await pool.query<Row>("select * from ledger.jobs where job_id = $1", [
        workId,
      ])
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
    discard: async (workId) => {
      const { rowCount } = await pool.query(
        "delete from ledger.jobs where job_id = $1 and stuck is not null",
        [workId],
      )
      return rowCount === 1
    },
    retry: async (workId, now, isEarly) => {
      const { rowCount } = await pool.query(
        `update ledger.jobs
         set stuck = null, retry_at = null, attempts = 0,
             due_at = least(due_at, to_timestamp($2::float8 / 1000))
         where job_id = $1 and ($3 or due_at <= to_timestamp($2::float8 / 1000))`,
        [workId, now, isEarly],
      )
      return rowCount === 1
    },
  }
}

/**
 * Whether a row may be taken: it is due, free, with nothing earlier of the same subject still to do and
 * nothing of it in anybody's hands, in whatever process.
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

/** What a company's home leaves for so long is taken by any process. */
const HOME_FIRST = "interval '2 seconds'"

/**
 * Rows to take. What is locked by another worker is skipped. Of several processes of a machine each takes
 * what belongs to companies that are at home in it: two writers of one ledger would be in each other's way.
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

/** Of some kinds those with a row that is due and in nobody's hands, whatever else holds it up. */
const WAITING_KINDS = `
  select distinct kind from ledger.jobs
  where kind = any($2::text[])
    and stuck is null and due_at <= to_timestamp($1::float8 / 1000)
    and (process_id is null or leased_until < clock_timestamp())`

/** Rows of the same kind that somebody has in hand. */
const COUNT_CLAIMED = `
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

/** Adds a row and takes it, unless it is there. */
const ENQUEUE_CLAIMED = `
  insert into ledger.jobs
    (kind, name, subject, company_id, payload, due_at, attempts, process_id, leased_until, trace)
  values ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), 1, $7,
    clock_timestamp() + interval '60 seconds', $8)
  on conflict (kind, name) do nothing
  returning job_id, kind, name, subject, company_id, payload, attempts, dispatched_at, trace`

/** Holds rows for another minute. */
const RENEW = `
  update ledger.jobs set leased_until = clock_timestamp() + interval '60 seconds'
  where job_id = any($1::bigint[]) and process_id = $2
  returning job_id`

/** Says that rows are about to go to a provider, and holds them for another minute. */
const DISPATCH = `
  update ledger.jobs
  set dispatched_at = clock_timestamp(),
      leased_until = clock_timestamp() + interval '60 seconds'
  where job_id = any($1::bigint[]) and process_id = $2
  returning job_id`

/** What of the table `ledger.jobs` is read. */
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

/** A row as whoever works at it has it. */
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

/** Whether nobody has it in hand, neither a process nor an operator. */
const isWaiting = (row: Row): boolean => row.process_id === null && row.stuck === null

/** A row as an operator reads it. */
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
