/** Read model `domains`: the connected domains of a company with their status. */
import type { Kysely, Transaction } from "kysely"
import type { DomainStatus, DomainId } from "../../domain/domains/domain-events.ts"
import { parseDomainId } from "../../domain/domains/domain-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { FactOfType, ProjectedFact } from "../kernel/projection.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  booleanColumn,
  instantColumn,
  tablesOf,
  defineTable,
  textColumn,
  textArrayColumn,
} from "../kernel/table.ts"
import { streamSuffixOf } from "../../domain/kernel/aggregate.ts"

const DOMAINS = defineTable(
  "domains",
  {
    company_id: textColumn<CompanyId>(),
    domain_id: textColumn<DomainId>(),
    name: textColumn(),
    status: textColumn<DomainStatus>(),
    name_servers: textArrayColumn(),
    /** The name servers last seen in the parent zone. */
    seen: textArrayColumn(),
    is_others: booleanColumn(),
    connected_at: instantColumn(),
  },
  ["company_id", "domain_id"],
  "(name)",
)

export type DomainRow = RowOf<typeof DOMAINS>

type Tables = RowsOf<typeof DOMAINS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof DOMAINS> {}
}

const ON = ["DomainConnected", "DelegationSeen", "DomainRemoved", "DomainReleased"] as const
type Handled = FactOfType<(typeof ON)[number]>

/** The read model `domains`. */
export const domainsReadModel = defineReadModel({
  name: "domains",
  version: 1,
  on: ON,
  ...tablesOf(DOMAINS),
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
      const initial = { status: "waiting", seen: [], isOthers: false } as const
      const { name, nameServers, at: connectedAt } = fact
      const row = { ...ids, name, nameServers, connectedAt, ...initial }
      await tx.insertInto("domains").values(DOMAINS.rowOf(row)).execute()
      return
    }
    case "DelegationSeen":
      await tx
        .updateTable("domains")
        .set({ status: fact.status, seen: fact.nameServers, is_others: fact.isElsewhere })
        .where("company_id", "=", ids.companyId)
        .where("domain_id", "=", ids.domainId)
        .execute()
      return
    case "DomainRemoved":
    case "DomainReleased":
      await tx
        .deleteFrom("domains")
        .where("company_id", "=", ids.companyId)
        .where("domain_id", "=", ids.domainId)
        .execute()
      return
  }
}

/** Lists a company's connected domains, oldest first. */
export async function listDomains(
  db: Kysely<Tables>,
  companyId: CompanyId,
): Promise<readonly DomainRow[]> {
  return db
    .selectFrom("domains")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("connected_at")
    .orderBy("domain_id")
    .execute()
}

/** Counts connected domains by status. */
export async function countDomains(
  db: Kysely<Tables>,
): Promise<readonly { readonly status: DomainStatus; readonly count: number }[]> {
  const rows = await db
    .selectFrom("domains")
    .select(["status", (eb) => eb.fn.countAll<string>().as("count")])
    .groupBy("status")
    .execute()
  return rows.map(({ status, count }) => ({ status, count: Number(count) }))
}

export interface ConnectedDomainIds {
  readonly companyId: CompanyId
  readonly domainId: DomainId
}

/**
 * Returns the connected domain of an event: reservations contain it, and a domain's own stream has it in its name.
 * Null for events of other streams.
 */
export function connectedDomainOf({
  fact,
  stream,
  companyId,
}: ProjectedFact): ConnectedDomainIds | null {
  if (fact.type === "DomainReserved" || fact.type === "DomainReleased") return fact
  const domainId = parseDomainId(streamSuffixOf(stream) ?? "")
  return companyId === null || domainId === null ? null : { companyId, domainId }
}
