/** Read model `hostnames`: the host names that point to apps, for proxies that ask which names are ours. */
import type { Kysely, Transaction } from "kysely"
import type {
  AppAddressStatus,
  AppAddressId,
  DomainId,
} from "../../domain/domains/domain-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { FactOfType, ProjectedFact } from "../kernel/projection.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { tablesOf, defineTable, textColumn } from "../kernel/table.ts"
import { connectedDomainOf } from "./domains.ts"

const HOSTNAMES = defineTable(
  "hostnames",
  {
    company_id: textColumn<CompanyId>(),
    app_address_id: textColumn<AppAddressId>(),
    domain_id: textColumn<DomainId>(),
    hostname: textColumn(),
    status: textColumn<AppAddressStatus>(),
  },
  ["company_id", "app_address_id"],
  "(hostname)",
)

/** A host name that points to an app. */
export type HostnameRow = RowOf<typeof HOSTNAMES>

type Tables = RowsOf<typeof HOSTNAMES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof HOSTNAMES> {}
}

const ON = [
  "AppAddressSaved",
  "AppAddressSeen",
  "AppAddressRemoved",
  "DomainRemoved",
  "DomainReleased",
] as const
type Handled = FactOfType<(typeof ON)[number]>

/** The read model `hostnames`. */
export const hostnamesReadModel = defineReadModel({
  name: "hostnames",
  version: 1,
  on: ON,
  ...tablesOf(HOSTNAMES),
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const recorded of facts) await applyOne(tx, recorded)
  },
})

async function applyOne(tx: Transaction<Tables>, recorded: ProjectedFact<Handled>): Promise<void> {
  const { fact } = recorded
  const ids = connectedDomainOf(recorded)
  if (ids === null) return
  const { companyId, domainId } = ids
  switch (fact.type) {
    case "AppAddressSaved": {
      const { appAddressId, hostname, status } = fact
      await HOSTNAMES.insert(tx, [
        HOSTNAMES.rowOf({ companyId, domainId, appAddressId, hostname, status }),
      ])
      return
    }
    case "AppAddressSeen":
      await tx
        .updateTable("hostnames")
        .set({ status: fact.status })
        .where("company_id", "=", companyId)
        .where("app_address_id", "=", fact.appAddressId)
        .execute()
      return
    case "AppAddressRemoved":
      await tx
        .deleteFrom("hostnames")
        .where("company_id", "=", companyId)
        .where("app_address_id", "=", fact.appAddressId)
        .execute()
      return
    case "DomainRemoved":
    case "DomainReleased":
      await tx
        .deleteFrom("hostnames")
        .where("company_id", "=", companyId)
        .where("domain_id", "=", domainId)
        .execute()
      return
  }
}

/** Lists the host names of all companies. */
export async function listAllHostnames(db: Kysely<Tables>): Promise<readonly HostnameRow[]> {
  return db.selectFrom("hostnames").selectAll().execute()
}
