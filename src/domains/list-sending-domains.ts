/** `GET /api/v1/email/domains`: what mail is sent from. */
import { z } from "zod"
import { listSendingDomains } from "../../projections/domains/sending-domains.ts"
import { listSenders } from "../../projections/domains/senders.ts"
import { route } from "../frame/routes/declare/route.ts"
import { SendingDomainReply, sendingDomainReply } from "./domain-reply.ts"

/** Senders are shown for so long, milliseconds. */
const SHOWN_MS = 90 * 86_400_000

/** Lists sending domains, and the addresses that mail was sent from. */
export const sendingDomainList = route({
  name: "listSendingDomains",
  method: "GET",
  url: "/api/v1/email/domains",
  group: "email",
  summary: "List sending domains and senders",
  operation: "email.domains.read",
  specGap: "The specification does not show the words of a status: pending, verified, failed.",
  counted: true,
  reply: z.object({
    domains: z.array(SendingDomainReply).describe("The first one first"),
    senders: z.array(z.string()).describe("The addresses that mail was sent from within 90 days"),
  }),
  reads: ["senders", "sending-domains"],
  handle: async (ports, { companyId }) => {
    const rows = await ports.readAs(companyId, (db) => listSendingDomains(db, companyId))
    const since = new Date(ports.clock.now() - SHOWN_MS)
    const senders = await ports.readAs(companyId, (db) => listSenders(db, companyId, since))
    const domains = rows.map((row) =>
      sendingDomainReply({
        sendingDomainId: row.sending_domain_id,
        name: row.name,
        status: row.status,
        faults: row.faults,
        hasDmarc: row.has_dmarc,
        checkedAt: row.checked_at?.getTime() ?? null,
        domain: { domainId: row.domain_id, name: row.parent_name, status: row.parent_status },
      }),
    )
    return { ok: true, body: { domains, senders: [...senders] } }
  },
})
