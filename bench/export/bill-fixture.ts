/** A bill of any length: in a ledger's stream, and as lines in a table. */
import { LEDGER_AGGREGATE, ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { createHash } from "node:crypto"
import type { Pool } from "pg"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import type { Charged } from "../../domain/charging/ledger-events.ts"
import { chargesReadModel } from "../../projections/charging/charges.ts"
import type { WrappedFact } from "../../src/frame/kernel/envelope.ts"
import { NO_HASH, causedBy, wrapFact } from "../../src/frame/kernel/envelope.ts"
import type { BillPorts, OpenedBill } from "../../src/billing/open-bill.ts"
import { InvalidMeasurement } from "../benchmark.ts"

const COMPANY = "co_benched0" as const
const PRICE = 9_000
const FROM = Date.UTC(2026, 10, 1)
const WRITE_BATCH = 10_000

/** Writes the read model with so many charges of one month, half of them for one text each. */
export async function writeBillLines(pool: Pool, lines: number): Promise<void> {
  await pool.query(
    `create schema if not exists read; ${chargesReadModel.create}; ${chargesReadModel.createIndexes}`,
  )
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

const md5 = (text: string): string => createHash("md5").update(text).digest("hex")

/** The fact of a line. */
function chargeAt(i: number): Charged {
  const quantity = 1 + (i % 2)
  return {
    type: "Charged",
    at: FROM + i,
    chargeId: `chg_${md5(String(i))}`,
    via: "own_key",
    keyId: `key_${i % 200}`,
    personId: `per_${i % 100}`,
    class: "general",
    item: "text_segment",
    quantity,
    unitPriceMicros: PRICE,
    amountMicros: PRICE * quantity,
    priceVersion: 1,
    requestedAt: FROM + i,
    dueAt: null,
    servedFrom: null,
    resource: `msg_${md5(String(i))}@${md5(`x${i}`)}`,
    isPending: false,
    exemption: null,
    isExternalId: false,
    isAlreadyCounted: false,
  }
}

/** Writes the ledger of these lines. Returns the hash at each requested revision. */
export async function writeLedger(
  pool: Pool,
  lines: number,
  asked: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const stream = ledgerStreamOf(COMPANY).stream
  const hashes = new Map<number, string>()
  let hash = NO_HASH
  for (let first = 0; first < lines; first += WRITE_BATCH) {
    const written: WrappedFact["proposed"][] = []
    for (let i = first; i < Math.min(lines, first + WRITE_BATCH); i += 1) {
      const place = { stream, revision: i, previousHash: hash }
      const wrapped = wrapFact(
        LEDGER_AGGREGATE.codec,
        chargeAt(i),
        place,
        causedBy(`req_${md5(`r${i}`)}`),
      )
      hash = wrapped.hash
      written.push(wrapped.proposed)
      if (asked.includes(i)) hashes.set(i, hash)
    }
    await pool.query(
      `insert into eventstore.events (position, stream, revision, id, type, data, metadata)
       select $1 + at - 1, $2, $1 + at - 1, id, 'Charged', data, metadata
       from unnest($3::uuid[], $4::text[], $5::text[]) with ordinality
         as events (id, data, metadata, at)`,
      [
        first,
        stream,
        written.map(({ id }) => id),
        written.map(({ data }) => data),
        written.map(({ metadata }) => metadata),
      ],
    )
  }
  await pool.query("vacuum analyze eventstore.events")
  return hashes
}

/** The bill of these lines, ending at a hash. */
export function billFixture(lines: number, hash: string): OpenedBill {
  const chargedMicros = PRICE * (lines + Math.floor(lines / 2))
  const sums = {
    addedMicros: 0,
    purchasedMicros: 0,
    correctedMicros: 0,
    chargedMicros,
    reducedMicros: 0,
    charges: lines,
  }
  const head = {
    companyId: COMPANY,
    issuer: "Company Platform" as const,
    month: "2026-11" as const,
    from: FROM,
    until: Date.UTC(2026, 11, 1),
    sums,
    state: "closed" as const,
    openingMicros: 0,
    closingMicros: 0 - chargedMicros,
    head: { revision: lines - 1, hash },
  }
  return { head, after: -1, upTo: lines - 1, hashBefore: NO_HASH, closedAt: null }
}

/** The ports to read the bill with: it is open already, so only events and the time are needed. */
export function billPorts(store: EventStore): BillPorts {
  return new Proxy({ pacer: machinePacer, store } as BillPorts, {
    get: (ports, name) => {
      if (name === "pacer" || name === "store") return ports[name]
      throw new InvalidMeasurement(`an export asked for ${String(name)}`)
    },
  })
}

/** The lines for `COPY`: the cells of an export. */
export const BILL_LINES_QUERY = `
  select revision, kind, charge_id, corrects, at, served_from, item, quantity, unit_price_micros,
         amount_micros, person_id, key_id, class, resource, price_version
  from read.charges where company_id = '${COMPANY}' order by revision`
