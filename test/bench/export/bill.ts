/** A bill of any length in a table of its own, and what an export of it is made with. */
import type { Kysely } from "kysely"
import type { Pool } from "pg"
import { machinePacer } from "../../../adapters/clock/pacer.ts"
import { kyselyOf } from "../../../adapters/postgres/database.ts"
import { charges } from "../../../projections/charges.ts"
import type { BillPorts, BillRead, OpenedBill } from "../../../src/exports/open-bill.ts"
import { Dishonest } from "../benchmark.ts"

const COMPANY = "co_benched0"
const PRICE = 9_000

/** Makes the read model with so many charges of one month, half of them for one text each. */
export async function writeBillLines(pool: Pool, lines: number): Promise<void> {
  await pool.query(`create schema if not exists read; ${charges.create}`)
  await pool.query(
    `insert into read.charges
     select $1, i, 'charge', 'chg_' || md5(i::text), null, 'final', 0,
            timestamptz '2026-11-01Z' + i * interval '1 millisecond', null, 'text_segment',
            1 + i % 2, ${PRICE}, 1, -${PRICE} * (1 + i % 2), 'own_key', 'per_' || i % 100,
            'key_' || i % 200, 'general', 'msg_' || md5(i::text) || '@' || md5('x' || i), null
     from generate_series(0, $2 - 1) as i`,
    [COMPANY, lines],
  )
  await pool.query("vacuum analyze read.charges")
}

/** The bill of these lines, as the ledger would say it. */
export function openedBill(lines: number): OpenedBill {
  const chargedMicros = PRICE * (lines + Math.floor(lines / 2))
  const sums = {
    ...{ addedMicros: 0, purchasedMicros: 0, correctedMicros: 0, chargedMicros },
    ...{ givenBackMicros: 0, charges: lines },
  }
  const from = Date.UTC(2026, 10, 1)
  const head = {
    ...{ companyId: COMPANY, month: "2026-11", from, until: Date.UTC(2026, 11, 1), sums },
    ...{ state: "closed" as const, openingMicros: 0, closingMicros: 0 - chargedMicros },
    head: { revision: lines - 1, hash: "ab".repeat(32) },
  }
  return { head, after: -1, upTo: lines - 1, closedAt: null }
}

/** Reads the lines as an operator does. */
export function readOf(pool: Pool): BillRead {
  const db: Kysely<unknown> = kyselyOf(pool)
  return (query) => query(db)
}

/** The bill is opened already: nothing but the time is asked for. */
export const BILL_PORTS: BillPorts = new Proxy({ pacer: machinePacer } as BillPorts, {
  get: (ports, name) => {
    if (name === "pacer") return ports.pacer
    throw new Dishonest(`an export asked for ${String(name)}`)
  },
})

/** The lines as they stand, for `COPY`: the cells that an export shows. */
export const SAME_LINES = `
  select revision, kind, charge_id, corrects, at, served_from, item, quantity, unit_price_micros,
         amount_micros, person_id, key_id, class, resource, price_version
  from read.charges where company_id = '${COMPANY}' order by revision`
