/**
 * Which company's number is called: a table of the read model `calls`, for a slice reads no other's. A number
 * that was released is nobody's, for carriers give it to others.
 */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import type { FactOfType, Unsealer } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { nullableColumn, defineTable, textColumn } from "../kernel/table.ts"

/** The table. */
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

/** Its rows, by its name. */
export type CalledNumberTables = RowsOf<typeof CALLED_NUMBERS_TABLE>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof CALLED_NUMBERS_TABLE> {}
}

/** Keeps who holds which number. */
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

/** Who holds a number in E.164; null where nobody here does. */
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
