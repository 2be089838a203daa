/** Read model `page-sites`: the company of each address of registration pages, by preview or host name. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyFactsOfType, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { tablesOf, nullableColumn, defineTable, textColumn } from "../kernel/table.ts"

const PAGE_SITES = defineTable(
  "page_sites",
  {
    company_id: textColumn<CompanyId>(),
    slug: textColumn(),
    hostname: nullableColumn(textColumn()),
  },
  ["company_id"],
  "(slug)",
)

/** A company's pages; `hostname` is null if they have none. */
export type PageSiteRow = RowOf<typeof PAGE_SITES>

type Tables = RowsOf<typeof PAGE_SITES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof PAGE_SITES> {}
}

/** The read model `page-sites`. It does not contain the pages' content. */
export const pageSitesReadModel = defineReadModel({
  name: "page-sites",
  version: 1,
  on: ["PagesSaved"],
  ...tablesOf(PAGE_SITES),
  // A sole proprietor's host name may be their own name.
  erased: { page_sites: ["hostname"] },
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const { fact, companyId } of companyFactsOfType(facts, "PagesSaved")) {
      const { slug, hostname } = fact
      await PAGE_SITES.upsert(tx, [PAGE_SITES.rowOf({ companyId, slug, hostname })])
    }
  },
})

/**
 * Finds the pages with this slug; null if there are none. Runs for all companies, because the slug determines the
 * company.
 */
export async function findPageSite(db: Kysely<Tables>, slug: string): Promise<PageSiteRow | null> {
  const found = db.selectFrom("page_sites").selectAll().where("slug", "=", slug)
  return (await found.executeTakeFirst()) ?? null
}

/** Lists the pages of all companies that are served at a host name. */
export async function listSitesWithHostname(db: Kysely<Tables>): Promise<readonly PageSiteRow[]> {
  return db.selectFrom("page_sites").selectAll().where("hostname", "is not", null).execute()
}
