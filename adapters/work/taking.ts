/** The statements by which rows are taken and held. */
import { homeInSql } from "../postgres/homes.ts"

/**
 * Whether a row may be taken: it is due, free, with nothing earlier of the same subject still to do and
 * nothing of it in anybody's hands, in whatever process.
 */
const IS_FREE = `
      parked is null and due_at <= to_timestamp($1::float8 / 1000)
      and (retry_at is null or retry_at <= clock_timestamp())
      and (process_id is null or leased_until < clock_timestamp())
      and not exists (
        select 1 from ledger.work other
        where other.subject = w.subject and other.work_id <> w.work_id
          and other.parked is null
          and (other.work_id < w.work_id and other.due_at <= to_timestamp($1::float8 / 1000)
            or other.process_id is not null and other.leased_until >= clock_timestamp()))`

const HOLD_NEXT = `
  update ledger.work w
  set process_id = $3, leased_until = clock_timestamp() + interval '60 seconds', tries = tries + 1
  from next where w.work_id = next.work_id
  returning w.work_id, w.kind, w.name, w.subject, w.company_id, w.payload, w.tries,
    w.handed_over_at, w.trace`

/** What a company's home leaves for so long is taken by any process. */
const HOME_FIRST = "interval '2 seconds'"

/**
 * Rows to take. What is locked by another worker is skipped. Of several processes of a machine each takes
 * what belongs to companies that are at home in it: two writers of one ledger would be in each other's way.
 */
export const TAKE = `
  with next as (
    select work_id from ledger.work w
    where ${IS_FREE}
      and not (kind = any($4::text[]))
      and ($5::int = 1 or company_id is null
        or ${homeInSql("company_id", "$5")} = $6::int
        or due_at <= to_timestamp($1::float8 / 1000) - ${HOME_FIRST})
    order by due_at, work_id
    limit $2
    for update skip locked)
  ${HOLD_NEXT}`

/** Of some kinds those with a row that is due and in nobody's hands, whatever else holds it up. */
export const WAITING_KINDS = `
  select distinct kind from ledger.work
  where kind = any($2::text[])
    and parked is null and due_at <= to_timestamp($1::float8 / 1000)
    and (process_id is null or leased_until < clock_timestamp())`

/** Rows of the same kind that somebody has in hand. */
const HELD = `
        select count(*) from ledger.work held
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
    select work_id from ledger.work w
    where kind = $2 and ${IS_FREE}
      and ($4::int is null or $4::int > (${HELD}
          and held.company_id is not distinct from w.company_id))
      and ($5::int is null or $5::int > (${HELD}
          and held.process_id in (${OF_THIS_MACHINE})))
    order by due_at, work_id
    limit 1
    for update)
  ${HOLD_NEXT}`

/** Adds a row and takes it, unless it is there. */
export const INSERT_TAKEN = `
  insert into ledger.work
    (kind, name, subject, company_id, payload, due_at, tries, process_id, leased_until, trace)
  values ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000), 1, $7,
    clock_timestamp() + interval '60 seconds', $8)
  on conflict (kind, name) do nothing
  returning work_id, kind, name, subject, company_id, payload, tries, handed_over_at, trace`

/** Holds rows for another minute. */
export const RENEW = `
  update ledger.work set leased_until = clock_timestamp() + interval '60 seconds'
  where work_id = any($1::bigint[]) and process_id = $2
  returning work_id`

/** Says that rows are about to go to a provider, and holds them for another minute. */
export const HAND_OVER = `
  update ledger.work
  set handed_over_at = clock_timestamp(),
      leased_until = clock_timestamp() + interval '60 seconds'
  where work_id = any($1::bigint[]) and process_id = $2
  returning work_id`
