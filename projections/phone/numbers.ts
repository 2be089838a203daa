/** Read model `numbers`: the company of each phone number. Released numbers are deleted. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  booleanColumn,
  instantColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const NUMBERS = defineTable(
  "numbers",
  {
    company_id: textColumn<CompanyId>(),
    number_id: textColumn<NumberId>(),
    number: nullableColumn(textColumn()),
    sms: booleanColumn(),
    added_at: instantColumn(),
  },
  ["number_id"],
  "(number)",
  "(company_id)",
)

/** A company's number; `number` is null once erased. */
export type NumberRow = RowOf<typeof NUMBERS>

type Tables = RowsOf<typeof NUMBERS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof NUMBERS> {}
}

/** The read model `numbers`. */
export const numbersReadModel = defineReadModel({
  name: "numbers",
  version: 3,
  on: ["NumberReleased", "NumberAdded"],
  ...tablesOf(NUMBERS),
  erased: { numbers: ["number"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId } of facts) {
      if (fact.type === "NumberReleased") {
        await sql`delete from numbers where number_id = ${fact.numberId}`.execute(tx)
      }
      if (fact.type !== "NumberAdded" || companyId === null) continue
      const number = await opener.unseal(companyId, fact.number)
      await NUMBERS.insert(tx, [NUMBERS.rowOf({ ...fact, companyId, number, addedAt: fact.at })])
    }
  },
})

/** Finds the company of a number in E.164; null if no company has it. */
export async function findHolderOfNumber(
  db: Kysely<Tables>,
  number: string,
): Promise<Pick<NumberRow, "company_id" | "number_id"> | null> {
  const row = await db
    .selectFrom("numbers")
    .select(["company_id", "number_id"])
    .where("number", "=", number)
    .executeTakeFirst()
  return row ?? null
}

/** Returns which of these numbers, in E.164, belong to a company. */
export async function findHeldNumbers(
  db: Kysely<Tables>,
  candidates: readonly string[],
): Promise<ReadonlySet<string>> {
  if (candidates.length === 0) return new Set()
  const rows = await db
    .selectFrom("numbers")
    .select("number")
    .where("number", "in", candidates)
    .execute()
  return new Set(rows.flatMap(({ number }) => number ?? []))
}
