/**
 * The company of each called number: a table of the read model `calls`, because a slice does not read another
 * slice's tables. Released numbers are deleted, because carriers assign them again.
 */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import type { FactOfType, Unsealer } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { nullableColumn, defineTable, textColumn } from "../kernel/table.ts"

/** The table `called_numbers`. */
export const CALLED_NUMBERS_TABLE = defineTable(
  "called_numbers",
  {
    company_id: textColumn<CompanyId>(),
    number_id: textColumn<NumberId>(),
    number: nullableColumn(textColumn()),
  },
  ["company_id", "number_id"],
  "(number)",
)

/** The table's rows by table name, for queries. */
export type CalledNumberTables = RowsOf<typeof CALLED_NUMBERS_TABLE>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof CALLED_NUMBERS_TABLE> {}
}

/** Applies an event about a number. */
export async function applyNumberFact(
  tx: Transaction<CalledNumberTables>,
  companyId: CompanyId,
  fact: FactOfType<"NumberAdded" | "NumberReleased">,
  opener: Unsealer,
): Promise<void> {
  if (fact.type === "NumberAdded") {
    const number = await opener.unseal(companyId, fact.number)
    await CALLED_NUMBERS_TABLE.insert(tx, [
      CALLED_NUMBERS_TABLE.rowOf({ ...fact, companyId, number }),
    ])
    return
  }
  await tx
    .deleteFrom("called_numbers")
    .where("company_id", "=", companyId)
    .where("number_id", "=", fact.numberId)
    .execute()
}

/** Finds the company of a number in E.164; null if no company has it. */
export async function findHolderOfCalledNumber(
  db: Kysely<CalledNumberTables>,
  number: string,
): Promise<Pick<RowOf<typeof CALLED_NUMBERS_TABLE>, "company_id" | "number_id"> | null> {
  const row = await db
    .selectFrom("called_numbers")
    .select(["company_id", "number_id"])
    .where("number", "=", number)
    .executeTakeFirst()
  return row ?? null
}
