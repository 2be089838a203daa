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
  summary: "list a company's connected domains, in order of connection",
  notes: [
    "waiting: its registrar does not name our name servers yet; moved: it no longer names them.",
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
        seenNameServers: row.seen,
        connectedAt: row.connected_at.toISOString(),
      })),
    }
  },
})

const remove = operation({
  name: "domain remove",
  summary: "remove a connected domain and stop serving its records",
  notes: ["While its registrar still names our name servers, no other company can connect it."],
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
    const reservation = await ports.runner.readLatest(
      DOMAIN_RESERVATIONS_STREAM,
      reservationCovering(name),
    )
    if (reservation === null || reservation.companyId !== companyId || reservation.name !== name) {
      throw new OperatorRefused("not_found", `${named} has no connected domain ${domain}.`)
    }
    await removeDomain(ports, reservation, "removed", cause)
    await waitForOwnWrites(ports)
    return { companyId, id: reservation.domainId, domain: name, status: "removed" }
  },
})

export const domainOperations: readonly AdminOperation[] = [list, remove]
