/** Read model `domains`: the connected domains of a company, and how each stands. */
import type { Kysely, Transaction } from "kysely"
import type { DomainStatus, DomainId } from "../../domain/domains/domain-events.ts"
import { parseDomainId } from "../../domain/domains/domain-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { FactOn, Recorded } from "../kernel/projection.ts"
import { readModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { flag, instant, madeOf, table, text, texts } from "../kernel/table.ts"
import { restOf } from "../../domain/kernel/aggregate.ts"

const DOMAINS = table(
  "domains",
  {
    company_id: text<CompanyId>(),
    domain_id: text<DomainId>(),
    name: text(),
    status: text<DomainStatus>(),
    name_servers: texts(),
    /** What the zone above named last. */
    seen: texts(),
    is_others: flag(),
    connected_at: instant(),
  },
  ["company_id", "domain_id"],
  "(name)",
)

/** A connected domain. */
export type DomainRow = RowOf<typeof DOMAINS>

type Tables = RowsOf<typeof DOMAINS>

declare module "../kernel/table.ts" {
  interface ReadTables extends RowsOf<typeof DOMAINS> {}
}

const ON = ["DomainConnected", "DelegationSeen", "DomainRemoved", "DomainReleased"] as const
type Handled = FactOn<(typeof ON)[number]>

/** The read model. */
export const domains = readModel({
  name: "domains",
  version: 1,
  on: ON,
  ...madeOf(DOMAINS),
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const recorded of facts) await applyOne(tx, recorded)
  },
})

async function applyOne(tx: Transaction<Tables>, recorded: Recorded<Handled>): Promise<void> {
  const { fact } = recorded
  const of = connectedDomain(recorded)
  if (of === null) return
  switch (fact.type) {
    case "DomainConnected": {
      const fresh = { status: "waiting", seen: [], isOthers: false } as const
      const { name, nameServers, at: connectedAt } = fact
      const row = { ...of, name, nameServers, connectedAt, ...fresh }
      await tx.insertInto("domains").values(DOMAINS.rowOf(row)).execute()
      return
    }
    case "DelegationSeen":
      await tx
        .updateTable("domains")
        .set({ status: fact.status, seen: fact.nameServers, is_others: fact.isElsewhere })
        .where("company_id", "=", of.companyId)
        .where("domain_id", "=", of.domainId)
        .execute()
      return
    case "DomainRemoved":
    case "DomainReleased":
      await tx
        .deleteFrom("domains")
        .where("company_id", "=", of.companyId)
        .where("domain_id", "=", of.domainId)
        .execute()
      return
  }
}

/** The connected domains of a company, the first one first. */
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

/** How many domains are connected, by how they stand. */
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

/** A connected domain, by its ids. */
export interface ConnectedDomain {
  readonly companyId: CompanyId
  readonly domainId: DomainId
}

/**
 * The connected domain that a fact is about: a claim says it, a domain's own stream has it in its name. Null
 * for facts of other streams.
 */
export function connectedDomain({ fact, stream, companyId }: Recorded): ConnectedDomain | null {
  if (fact.type === "DomainReserved" || fact.type === "DomainReleased") return fact
  const domainId = parseDomainId(restOf(stream) ?? "")
  return companyId === null || domainId === null ? null : { companyId, domainId }
}
