/** Texts in lists: only reading is measured, so they are inserted into the read model. */
import type { Pool } from "pg"
import { listMessages } from "../../projections/phone/messages.ts"
import type { AdminPorts } from "../../src/frame/operator/operation.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { TextingCompany } from "../texts/texting-company.ts"

/** Inserts so many texts of each company into the read model. */
export async function insertTexts(
  pool: Pool,
  companies: readonly Pick<TextingCompany, "companyId">[],
  count: number,
): Promise<void> {
  for (const { companyId } of companies) {
    await pool.query(
      `insert into read.messages
       select $1, 'msg_' || lpad(i::text, 22, '0'), 'num_1', 'out', '+14155550100',
         '+1415' || (2000000 + i), repeat('t', 80), 0, 'sent', null, 'key_1', 'chg_1',
         timestamptz '2026-01-01' + i * interval '1 second'
       from generate_series(1, $2::integer) as i`,
      [companyId, count],
    )
  }
  await pool.query("analyze read.messages")
}

/**
 * Reads another company's texts, as the API and as the owner of the tables.
 *
 * @throws InvalidMeasurement if the secured read is not secured, or the other one is
 */
export async function checkRowSecurity(
  { readAs, readAll }: Pick<AdminPorts, "readAs" | "readAll">,
  companies: readonly Pick<TextingCompany, "companyId">[],
): Promise<void> {
  const [own, other] = companies.map(({ companyId }) => companyId)
  if (own === undefined || other === undefined) throw new Error("two companies are needed")
  const asked = { companyId: other, since: null, before: null, limit: 1 }
  const seen = await readAs(own, (db) => listMessages(db, asked))
  assertMeasurement(seen.length === 0, "the API sees the rows of another company")
  const seenByOwner = await listMessages(readAll, asked)
  assertMeasurement(seenByOwner.length === 1, "the owner of the tables does not see all rows")
}
