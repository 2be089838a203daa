import type { Pool } from "pg"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId, parseStored } from "../../../domain/kernel/ids.ts"
import type { Clock } from "../../machine/clock/port.ts"
import { compareAndSet } from "../../postgres/ttl-store/postgres.ts"
import { batchCalls } from "../../machine/promises.ts"
import type {
  SimulatedRecord,
  SimulatedRecordKind,
  SimulatedRecords,
  SimulatorStore,
  Simulator,
  Simulators,
} from "./port.ts"

/** Maximum number of records in one statement. */
const BATCH_SIZE = 500

interface SimulatorStorePorts {
  readonly pool: Pool
  readonly clock: Clock
}

/**
 * Opens the store in the table `ledger.simulated_records`. New records get the time of the ledger's
 * clock.
 */
export function openSimulatorStore(ports: SimulatorStorePorts): SimulatorStore {
  return { recordsOf: (kind) => openRecords(ports, kind) }
}

function openRecords<T extends object>(
  ports: SimulatorStorePorts,
  kind: SimulatedRecordKind,
): SimulatedRecords<T> {
  const { pool } = ports
  const kindKey = [kind.provider, kind.kind]
  const insertBatched = batchCalls<NewRecord<T>, T | undefined>(BATCH_SIZE, (records) =>
    insertAllIfAbsent(ports, kind, records),
  )
  const find = async (name: string): Promise<T | null> => {
    const query = { name: "simulated-find", text: FIND, values: [...kindKey, name] }
    const { rows } = await pool.query<{ content: T }>(query)
    return rows[0]?.content ?? null
  }
  return {
    insertIfAbsent: async (name, companyId, content) => {
      let known: T | undefined
      do known = await insertBatched({ name, companyId, content })
      while (known === undefined)
      return known
    },
    find,
    update: (name, companyId, change) =>
      compareAndSet(
        {
          find: () => find(name),
          insert: async (content) =>
            (await insert(ports, kind, [{ name, companyId, content }])).has(name),
          replace: (known, content) =>
            replace(pool, [...kindKey, name, toJson(known), toJson(content)]),
        },
        change,
      ),
    remove: async (name) => {
      await pool.query(DELETE, [...kindKey, name])
    },
    listNewest: async (companyId, limit) => {
      const { rows } = await pool.query<Row<T>>(NEWEST, [...kindKey, companyId, limit])
      return rows.map(toSimulatedRecord)
    },
  }
}

interface NewRecord<T> {
  readonly name: string
  readonly companyId: CompanyId
  readonly content: T
}

interface Row<T> {
  readonly name: string
  readonly company_id: string
  readonly content: T
  readonly at: Date
}

const KIND_CONDITION = "provider = $1 and kind = $2"
const FIND = `select content from ledger.simulated_records where ${KIND_CONDITION} and name = $3`
const DELETE = `delete from ledger.simulated_records where ${KIND_CONDITION} and name = $3`
const REPLACE = `
  update ledger.simulated_records set content = $5::jsonb
  where ${KIND_CONDITION} and name = $3 and content = $4::jsonb`
const NEWEST = `
  select name, company_id, content, at from (
    select * from ledger.simulated_records where ${KIND_CONDITION} and ($3::text is null or company_id = $3)
    order by record_id desc limit $4) newest
  order by record_id`

const INSERT = `
  insert into ledger.simulated_records (provider, kind, is_permanent, at, name, company_id, content)
  select $1::text, $2::text, $3::boolean, to_timestamp($4::float8 / 1000), name, company_id, content::jsonb
  from unnest($5::text[], $6::text[], $7::text[]) as given (name, company_id, content)
  on conflict do nothing returning name`
const FIND_MANY = `
  select name, content from ledger.simulated_records where ${KIND_CONDITION} and name = any($3::text[])`

/**
 * Inserts records in one statement. The result is undefined for a name that was found and then
 * removed by another process.
 */
async function insertAllIfAbsent<T>(
  ports: SimulatorStorePorts,
  kind: SimulatedRecordKind,
  records: readonly NewRecord<T>[],
): Promise<readonly (T | undefined)[]> {
  // One order everywhere, so that two processes that insert the same records do not deadlock.
  const sorted = records.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const fresh = await insert(ports, kind, sorted)
  const known = new Map<string, T>()
  for (const { name, content } of sorted) {
    if (fresh.has(name) && !known.has(name)) known.set(name, content)
  }
  // Usually all records are new. This reads the ones that other processes inserted; the insert
  // waited for them.
  const others = sorted.map(({ name }) => name).filter((name) => !known.has(name))
  if (others.length > 0) {
    const values = [kind.provider, kind.kind, others]
    const query = { name: "simulated-find-some", text: FIND_MANY, values }
    const { rows } = await ports.pool.query<{ name: string; content: T }>(query)
    for (const { name, content } of rows) known.set(name, content)
  }
  return records.map(({ name }) => known.get(name))
}

/** Inserts the records whose names are free; returns those names. */
async function insert<T>(
  { pool, clock }: SimulatorStorePorts,
  { provider, kind, isPermanent = false }: SimulatedRecordKind,
  records: readonly NewRecord<T>[],
): Promise<ReadonlySet<string>> {
  const values = [
    provider,
    kind,
    isPermanent,
    clock.now(),
    records.map(({ name }) => name),
    records.map(({ companyId }) => companyId),
    records.map(({ content }) => toJson(content)),
  ]
  const query = { name: "simulated-insert", text: INSERT, values }
  const { rows } = await pool.query<{ name: string }>(query)
  return new Set(rows.map(({ name }) => name))
}

async function replace(pool: Pool, values: readonly string[]): Promise<boolean> {
  const { rowCount } = await pool.query(REPLACE, [...values])
  return rowCount === 1
}

function toJson(content: unknown): string {
  return JSON.stringify(content)
}

function toSimulatedRecord<T>({
  name,
  company_id,
  content,
  at: createdAt,
}: Row<T>): SimulatedRecord<T> {
  return { name, companyId: parseStored(parseCompanyId, company_id), content, createdAt }
}

interface StoredRow {
  readonly name: string
  readonly outcome: string
  readonly times: number | null
}
const SELECT_ALL = "select * from ledger.simulators"

/** Opens the settings in the table `ledger.simulators`; they survive a restart. */
export function openPostgresSimulators(pool: Pool): Simulators {
  const find = batchCalls<string, StoredRow | undefined>(BATCH_SIZE, async (names) => {
    const { rows } = await pool.query<StoredRow>({ name: "simulators", text: SELECT_ALL })
    return names.map((name) => rows.find((row) => row.name === name))
  })
  return {
    nextOutcome: async <O extends string>({ name }: Simulator<O>) => {
      const row = await find(name)
      if (row === undefined) return "ok"
      // The outcome was checked against the simulator's list when it was set.
      const outcome = row.outcome as O
      if (row.times === null) return outcome
      const counted = await pool.query(
        "update ledger.simulators set times = times - 1 where name = $1 and times > 0",
        [name],
      )
      return counted.rowCount === 1 ? outcome : "ok"
    },
    set: async ({ name, outcome, times }) => {
      await pool.query(
        `insert into ledger.simulators values ($1, $2, $3)
         on conflict (name) do update set outcome = excluded.outcome, times = excluded.times`,
        [name, outcome, times],
      )
    },
    list: async () => {
      const { rows } = await pool.query<StoredRow>(SELECT_ALL)
      return rows.filter(({ times }) => times !== 0)
    },
  }
}
