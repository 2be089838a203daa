import type { Pool } from "pg"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Clock } from "../../machine/clock/port.ts"
import type { TtlStore, TtlRecordKind, TtlRecord, TtlRecords } from "./port.ts"

interface TtlStorePorts {
  readonly pool: Pool
  readonly clock: Clock
}

/** Opens expiring records in the table `ledger.expiring_records`. */
export function openPostgresTtlStore(ports: TtlStorePorts): TtlStore {
  return {
    of: (kind) => openRecords(ports, kind),
    deleteExpired: async () => {
      await ports.pool.query("delete from ledger.expiring_records where expires_at <= $1", [
        currentTime(ports),
      ])
    },
  }
}

const BY_NAME = "company_id = $1 and slice = $2 and kind = $3 and name = $4"
const FIND = `
  select content, expires_at as "expiresAt", clock_timestamp() as real_now
  from (select 1) as one left join ledger.expiring_records on ${BY_NAME} and expires_at > $5`
// An expired record counts as missing, so it is overwritten.
const INSERT = `
  insert into ledger.expiring_records as known (company_id, slice, kind, name, content, expires_at)
  values ($1, $2, $3, $4, $6::jsonb, $7)
  on conflict (company_id, slice, kind, name) do update
  set content = excluded.content, expires_at = excluded.expires_at where known.expires_at <= $5`
const REPLACE = `
  update ledger.expiring_records set content = $6::jsonb, expires_at = $7
  where ${BY_NAME} and expires_at > $5 and content = $8::jsonb and expires_at = $9`
const DELETE = `delete from ledger.expiring_records where ${BY_NAME}`

interface Row<T> {
  readonly content: T | null
  readonly expiresAt: Date | null
  readonly real_now: Date
}

interface FoundRecord<T> {
  readonly record: TtlRecord<T> | null
  readonly realNow: number
}

function openRecords<T extends object>(
  ports: TtlStorePorts,
  { slice, kind }: TtlRecordKind,
): TtlRecords<T> {
  const { pool } = ports
  const findRecord = async (companyId: CompanyId, name: string): Promise<FoundRecord<T>> => {
    const values = [companyId, slice, kind, name, currentTime(ports)]
    const { rows } = await pool.query<Row<T>>({ name: "expiring-record-find", text: FIND, values })
    // The left join always returns one row, with the time.
    const { content, expiresAt, real_now } = rows[0] as Row<T>
    const record =
      content === null || expiresAt === null ? null : { content, expiresAt: expiresAt.getTime() }
    return { record, realNow: real_now.getTime() }
  }
  return {
    find: async (companyId, name) => (await findRecord(companyId, name)).record,
    update: (companyId, name, change) => {
      const key = [companyId, slice, kind, name]
      const write = async (text: string, values: readonly unknown[]) =>
        (await pool.query(text, [...key, currentTime(ports), ...values])).rowCount === 1
      let realNow = 0
      return compareAndSet(
        {
          find: async () => {
            const found = await findRecord(companyId, name)
            ;({ realNow } = found)
            return found.record
          },
          insert: (record) => write(INSERT, valuesOf(record)),
          replace: (known, record) => write(REPLACE, [...valuesOf(record), ...valuesOf(known)]),
        },
        (known) => change(known, realNow),
      )
    },
    delete: async (companyId, name) => {
      await pool.query(DELETE, [companyId, slice, kind, name])
    },
  }
}

function valuesOf({ content, expiresAt }: TtlRecord<unknown>): readonly unknown[] {
  return [JSON.stringify(content), new Date(expiresAt)]
}

function currentTime({ clock }: TtlStorePorts): Date {
  return new Date(clock.now())
}

interface ChangedRow<T> {
  /** The current content; null if there is no row. */
  readonly find: () => Promise<T | null>
  /** Inserts the row; false if it exists by now. */
  readonly insert: (content: T) => Promise<boolean>
  /** Replaces `known`; false if the row changed meanwhile. */
  readonly replace: (known: T, content: T) => Promise<boolean>
}

/**
 * Changes a row atomically. `change` gets the current content, may be called again, and returns the
 * same object to write nothing. Returns the new content.
 */
export async function compareAndSet<T>(
  row: ChangedRow<T>,
  change: (known: T | null) => T,
): Promise<T> {
  for (;;) {
    const known = await row.find()
    const content = change(known)
    if (known === content) return content
    const isDone = known === null ? await row.insert(content) : await row.replace(known, content)
    if (isDone) return content
    // Another process changed the row first: try again.
  }
}
