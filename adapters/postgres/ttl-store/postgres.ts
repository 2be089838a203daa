import type { Pool } from "pg"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Clock } from "../../machine/clock/port.ts"
import type { TtlStore, TtlRecordKind, TtlRecord, TtlRecords } from "./port.ts"

/** What it works with. */
interface TtlStorePorts {
  readonly pool: Pool
  readonly clock: Clock
}

/** What is kept in the table `ledger.expiring_records`. What a company's erasure takes is its rows. */
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
// What nobody finds any more is in nobody's way.
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
  /** Null where nothing is found. */
  readonly content: T | null
  readonly expiresAt: Date | null
  readonly real_now: Date
}

/** What is found by a name, and the store's own time then, UTC milliseconds. */
interface FoundRecord<T> {
  readonly record: TtlRecord<T> | null
  readonly realNow: number
}

function openRecords<T extends object>(
  ports: TtlStorePorts,
  { slice, kind }: TtlRecordKind,
): TtlRecords<T> {
  const { pool } = ports
  const look = async (companyId: CompanyId, name: string): Promise<FoundRecord<T>> => {
    const values = [companyId, slice, kind, name, currentTime(ports)]
    const { rows } = await pool.query<Row<T>>({ name: "kept-find", text: FIND, values })
    // One row always comes: that of the time.
    const { content, expiresAt, real_now } = rows[0] as Row<T>
    const record =
      content === null || expiresAt === null ? null : { content, expiresAt: expiresAt.getTime() }
    return { record, realNow: real_now.getTime() }
  }
  return {
    find: async (companyId, name) => (await look(companyId, name)).record,
    update: (companyId, name, change) => {
      const at = [companyId, slice, kind, name]
      const write = async (text: string, values: readonly unknown[]) =>
        (await pool.query(text, [...at, currentTime(ports), ...values])).rowCount === 1
      let realNow = 0
      return compareAndSet(
        {
          find: async () => {
            const found = await look(companyId, name)
            ;({ realNow } = found)
            return found.record
          },
          insert: (thing) => write(INSERT, valuesOf(thing)),
          replace: (known, thing) => write(REPLACE, [...valuesOf(thing), ...valuesOf(known)]),
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

/** A row, as statements see it. */
interface ChangedRow<T> {
  /** What stands there; null where nothing does. */
  readonly find: () => Promise<T | null>
  /** Writes it where nothing stands; false where something does by now. */
  readonly insert: (content: T) => Promise<boolean>
  /** Writes it where `known` stands; false where something else does by now. */
  readonly replace: (known: T, content: T) => Promise<boolean>
}

/**
 * Changes a row; nobody else changes it in between. `change` is given what stands there and may be asked
 * again; where it gives the same object, nothing is written. Answers what stands there then.
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
    // Somebody else was quicker: what stands there now is looked at anew.
  }
}
