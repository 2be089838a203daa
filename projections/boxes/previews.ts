/** Read model `previews`: the ports of boxes that anyone with the link can open. */
import type { Kysely, Transaction } from "kysely"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { CompanyFact, FactOfType, Unsealer } from "../kernel/projection.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  integerColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../kernel/table.ts"

const PREVIEWS = defineTable(
  "previews",
  {
    company_id: textColumn<CompanyId>(),
    box_id: textColumn<BoxId>(),
    port: integerColumn(),
    token: nullableColumn(textColumn()),
    tag: textColumn(),
  },
  ["company_id", "box_id", "port"],
  "unique (tag)",
)

/** An open port; `token` is the first label of its host name, null once erased. */
export type PreviewRow = RowOf<typeof PREVIEWS>

type Tables = RowsOf<typeof PREVIEWS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof PREVIEWS> {}
}

const ON = ["PreviewOpened", "PreviewClosed", "BoxStopped"] as const
type Handled = FactOfType<(typeof ON)[number]>

/** The read model `previews`. */
export const previewsReadModel = defineReadModel({
  name: "previews",
  version: 1,
  on: ON,
  ...tablesOf(PREVIEWS),
  erased: { previews: "rows" },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const recorded of companyFacts(facts)) await applyOne(tx, recorded, opener)
  },
})

async function applyOne(
  tx: Transaction<Tables>,
  { fact, companyId }: CompanyFact<Handled>,
  opener: Unsealer,
): Promise<void> {
  if (fact.type === "PreviewOpened") {
    const token = await opener.unseal(companyId, fact.token)
    // The key is destroyed, so the link is lost, as if the company had already been erased.
    if (token === null) return
    await PREVIEWS.insert(tx, [PREVIEWS.rowOf({ ...fact, companyId, token })])
    return
  }
  if (fact.type !== "PreviewClosed" && fact.type !== "BoxStopped") return
  const previewsOfBox = tx
    .deleteFrom("previews")
    .where("company_id", "=", companyId)
    .where("box_id", "=", fact.boxId)
  await (
    fact.type === "BoxStopped" ? previewsOfBox : previewsOfBox.where("port", "=", fact.port)
  ).execute()
}

/** Lists the open ports of some boxes of a company, by port. */
export async function listPreviews(
  db: Kysely<Tables>,
  companyId: CompanyId,
  boxIds: readonly BoxId[],
): Promise<readonly PreviewRow[]> {
  if (boxIds.length === 0) return []
  return db
    .selectFrom("previews")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("box_id", "in", boxIds)
    .orderBy("port")
    .execute()
}

/** Finds the open port of a tag; null for none. Runs for all companies, because the tag determines the company. */
export async function findPreview(db: Kysely<Tables>, tag: string): Promise<PreviewRow | null> {
  const found = db.selectFrom("previews").selectAll().where("tag", "=", tag)
  return (await found.executeTakeFirst()) ?? null
}
