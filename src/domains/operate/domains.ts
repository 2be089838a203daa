/** Connected domains, as an operator sees and removes them. */
import { z } from "zod"
import { DOMAIN_RESERVATIONS_STREAM } from "../../../domain/domains/aggregates.ts"
import { reservationCovering } from "../../../domain/domains/domain-reservations.ts"
import { listDomains } from "../../../projections/domains/domains.ts"
import { companyInput, findCompany, waitForOwnWrites } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { parseHostname } from "../domain-reply.ts"
import { removeDomain } from "../remove-domain.ts"

const list = operation({
  name: "domain list",
  summary: "list a company's connected domains, the first one first",
  notes: [
    "waiting: its registrar does not name our name servers yet; moved: it does not any more.",
  ],
  example: "domain list --company acme",
  input: z.object({ company: companyInput }),
  consoleAccess: { permission: "Manage domains" },
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    await waitForOwnWrites(ports)
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
    company: companyInput,
    domain: z.string().min(1).meta({ description: "the domain, by its name" }),
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { company: named, domain }) => {
    const companyId = await findCompany(ports, named)
    const name = parseHostname(domain) ?? domain.toLowerCase()
    const claim = await ports.runner.readLatest(
      DOMAIN_RESERVATIONS_STREAM,
      reservationCovering(name),
    )
    if (claim === null || claim.companyId !== companyId || claim.name !== name) {
      throw new OperatorRefused("not_found", `This company has no domain ${domain}.`)
    }
    await removeDomain(ports, claim, "removed", cause)
    await waitForOwnWrites(ports)
    return { companyId, id: claim.domainId, domain: name, status: "removed" }
  },
})

/** Operations on connected domains. */
export const domainOperations: readonly AdminOperation[] = [list, remove]
