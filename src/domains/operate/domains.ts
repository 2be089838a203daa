/** Connected domains, as an operator sees and removes them. */
import { z } from "zod"
import { CLAIMS } from "../../../domain/domains/aggregates.ts"
import { claimOver } from "../../../domain/domains/domains.ts"
import { listDomains } from "../../../projections/domains/domains.ts"
import { company, findCompany, showWrites } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { hostNameOf } from "../domain-reply.ts"
import { removeDomain } from "../remove-domain.ts"

const list = operation({
  name: "domain list",
  summary: "list a company's connected domains, the first one first",
  notes: [
    "waiting: its registrar does not name our name servers yet; moved: it does not any more.",
  ],
  example: "domain list --company acme",
  input: z.object({ company }),
  console: { permission: "Manage domains" },
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    await showWrites(ports)
    const rows = await listDomains(ports.readAll, companyId)
    return {
      domains: rows.map((row) => ({
        id: row.domain_id,
        domain: row.name,
        status: row.status,
        nameServers: row.name_servers,
        seen: row.seen,
        connectedAt: row.connected_at.toISOString(),
      })),
    }
  },
})

const remove = operation({
  name: "domain remove",
  summary: "remove a connected domain: nothing of it is served any more",
  notes: [
    "Its registrar still names our name servers until its owner changes that; until then nobody else can connect it.",
  ],
  example: "domain remove --company acme --domain acme.com",
  changes: true,
  irreversible: { field: "domain", says: "its records, senders and web addresses are gone" },
  input: z.object({
    company,
    domain: z.string().min(1).meta({ description: "the domain, by its name" }),
  }),
  console: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { company: named, domain }) => {
    const companyId = await findCompany(ports, named)
    const name = hostNameOf(domain) ?? domain.toLowerCase()
    const claim = await ports.runner.readLatest(CLAIMS, claimOver(name))
    if (claim === null || claim.companyId !== companyId || claim.name !== name) {
      throw new OperatorRefused("not_found", `This company has no domain ${domain}.`)
    }
    await removeDomain(ports, claim, "removed", cause)
    await showWrites(ports)
    return { companyId, id: claim.domainId, domain: name, status: "removed" }
  },
})

/** Operations on connected domains. */
export const domainOperations: readonly AdminOperation[] = [list, remove]
