/** `GET /api/v1/domain`, and the same by `POST` as a zone file. */
import { z } from "zod"
import { domainOf } from "../../domain/domains/aggregates.ts"
import { wholeZone } from "../../domain/domains/domain-views.ts"
import { zoneFile } from "../../domain/domains/zone-file.ts"
import { listDomains } from "../../projections/domains/domains.ts"
import { route } from "../frame/routes/declare/route.ts"
import { DomainReply, NoDomainReply, domainReply } from "./domain-reply.ts"
import { anyDomainId, findDomain, noDomain } from "./find-domain.ts"
import { DOMAIN_POST, SHOWN_BEYOND } from "./routes.ts"

/** Shows a connected domain. */
export const domainDetail = route({
  name: "getDomain",
  method: "GET",
  url: DOMAIN_POST.url,
  group: DOMAIN_POST.group,
  counted: true,
  summary: "Look at a connected domain",
  operation: "dns.read",
  specGap: SHOWN_BEYOND,
  query: z.object({ domainId: anyDomainId }),
  reply: z.union([DomainReply, NoDomainReply]),
  refuses: ["not_found"],
  reads: ["domains"],
  handle: async (ports, { companyId }, { query: { domainId } }) => {
    const view = await findDomain(ports, companyId, domainId)
    if (view === null && domainId !== undefined) {
      return { ok: false, refusal: noDomain(domainId) }
    }
    if (view === null) return { ok: true, body: { domain: null, domains: [] } }
    const all = await ports.readAs(companyId, (db) => listDomains(db, companyId))
    return { ok: true, body: domainReply(view, all) }
  },
})

/** Answers a domain's records as a zone file. */
export const exportRecords = route({
  ...DOMAIN_POST,
  name: "exportRecords",
  summary: "Export a domain's records as a zone file",
  example: { body: { action: "export_records" } },
  operation: "dns.read",
  body: z.object({
    action: z.literal("export_records").describe("All records as one text"),
    domainId: anyDomainId,
  }),
  reply: z.object({
    domain: z.string().describe("The domain"),
    file: z.string().describe("A standard zone file (RFC 1035)"),
  }),
  refuses: ["not_found"],
  handle: async ({ runner }, { companyId }, { body }) => {
    const view = await findDomain({ runner }, companyId, body.domainId)
    const zone =
      view === null ? null : await runner.read(domainOf(companyId, view.domainId), wholeZone)
    if (zone === null) return { ok: false, refusal: noDomain(body.domainId) }
    return { ok: true, body: { domain: zone.apex, file: zoneFile(zone) } }
  },
})
