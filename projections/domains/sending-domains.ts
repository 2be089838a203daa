/** Read model `sending-domains`: the sending domains of a company, and the status of their connected domains. */
import type { Kysely, Transaction } from "kysely"
import type {
  DomainStatus,
  SendingFault,
  SendingStatus,
  DomainId,
  SendingDomainId,
} from "../../domain/domains/domain-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { FactOfType, ProjectedFact } from "../kernel/projection.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  booleanColumn,
  instantColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
  textArrayColumn,
} from "../kernel/table.ts"
import { connectedDomainOf } from "./domains.ts"

const SENDING_DOMAINS = defineTable(
  "sending_domains",
  {
    company_id: textColumn<CompanyId>(),
    sending_domain_id: textColumn<SendingDomainId>(),
    domain_id: textColumn<DomainId>(),
    name: textColumn(),
    status: textColumn<SendingStatus>(),
    faults: textArrayColumn<SendingFault>(),
    has_dmarc: booleanColumn(),
    added_at: instantColumn(),
    checked_at: nullableColumn(instantColumn()),
  },
  ["company_id", "sending_domain_id"],
  "(company_id, domain_id)",
)

const PARENTS = defineTable(
  "sending_domain_parents",
  {
    company_id: textColumn<CompanyId>(),
    domain_id: textColumn<DomainId>(),
    parent_name: textColumn(),
    parent_status: textColumn<DomainStatus>(),
  },
  ["company_id", "domain_id"],
)

/** A sending domain and the connected domain above it. */
export type SendingDomainRow = RowOf<typeof SENDING_DOMAINS> &
  Pick<RowOf<typeof PARENTS>, "parent_name" | "parent_status">

type Tables = RowsOf<typeof SENDING_DOMAINS | typeof PARENTS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof SENDING_DOMAINS | typeof PARENTS> {}
}

const ON = [
  "DomainConnected",
  "DelegationSeen",
  "SendingDomainAdded",
  "SendingDomainChecked",
  "DomainRemoved",
  "DomainReleased",
] as const
type Handled = FactOfType<(typeof ON)[number]>

/** The read model `sending-domains`. */
export const sendingDomainsReadModel = defineReadModel({
  name: "sending-domains",
  version: 1,
  on: ON,
  ...tablesOf(SENDING_DOMAINS, PARENTS),
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const recorded of facts) await applyOne(tx, recorded)
  },
})

async function applyOne(tx: Transaction<Tables>, recorded: ProjectedFact<Handled>): Promise<void> {
  const { fact } = recorded
  const ids = connectedDomainOf(recorded)
  if (ids === null) return
  switch (fact.type) {
    case "DomainConnected": {
      const parent = { ...ids, parentName: fact.name, parentStatus: "waiting" } as const
      await PARENTS.insert(tx, [PARENTS.rowOf(parent)])
      return
    }
    case "DelegationSeen":
      await tx
        .updateTable("sending_domain_parents")
        .set({ parent_status: fact.status })
        .where("company_id", "=", ids.companyId)
        .where("domain_id", "=", ids.domainId)
        .execute()
      return
    case "SendingDomainAdded": {
      const { sendingDomainId, name, at: addedAt } = fact
      const initial = { status: "pending", faults: [], hasDmarc: false } as const
      const row = { ...ids, sendingDomainId, name, addedAt, ...initial }
      await tx.insertInto("sending_domains").values(SENDING_DOMAINS.rowOf(row)).execute()
      return
    }
    case "SendingDomainChecked": {
      const { status, faults, hasDmarc: has_dmarc, at, sendingDomainId } = fact
      await tx
        .updateTable("sending_domains")
        .set({ status, faults, has_dmarc, checked_at: new Date(at) })
        .where("company_id", "=", ids.companyId)
        .where("sending_domain_id", "=", sendingDomainId)
        .execute()
      return
    }
    case "DomainRemoved":
    case "DomainReleased":
      for (const name of ["sending_domains", "sending_domain_parents"] as const) {
        await tx
          .deleteFrom(name)
          .where("company_id", "=", ids.companyId)
          .where("domain_id", "=", ids.domainId)
          .execute()
      }
      return
  }
}

const withParents = (db: Kysely<Tables>, companyId: CompanyId) =>
  db
    .selectFrom("sending_domains")
    .innerJoin("sending_domain_parents", (join) =>
      join
        .onRef("sending_domain_parents.company_id", "=", "sending_domains.company_id")
        .onRef("sending_domain_parents.domain_id", "=", "sending_domains.domain_id"),
    )
    .selectAll("sending_domains")
    .select(["parent_name", "parent_status"])
    .where("sending_domains.company_id", "=", companyId)

/** Lists a company's sending domains, oldest first. */
export async function listSendingDomains(
  db: Kysely<Tables>,
  companyId: CompanyId,
): Promise<readonly SendingDomainRow[]> {
  return withParents(db, companyId).orderBy("added_at").orderBy("sending_domain_id").execute()
}
