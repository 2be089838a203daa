/** `POST /api/v1/email/domains`: adding a sending domain, and checking one. */
import { z } from "zod"
import { isOutside } from "../../adapters/providers/outside.ts"
import { MESSAGES } from "../../domain/domains/domain-commands.ts"
import { isUnder } from "../../domain/domains/host-names.ts"
import type { SendingDomainId } from "../../domain/domains/ids.ts"
import { parseSendingDomainId } from "../../domain/domains/ids.ts"
import { CLAIMS, domainOf } from "../../domain/domains/aggregates.ts"
import { sendingDomainOf } from "../../domain/domains/domain-views.ts"
import { claimsOf } from "../../domain/domains/domains.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { causeOf } from "../frame/routes/call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalid } from "../frame/routes/checks/7-values.ts"
import { idOf, shortText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { addSendingDomainTo, namedIn } from "./add-sending-domain.ts"
import type { SenderPlace } from "./check-sending-domain.ts"
import { checkSender } from "./check-sending-domain.ts"
import { hostNameOf } from "./domain-names.ts"
import { sendingStatus } from "./domain-reply.ts"
import { CONFLICTS, findDomain, noDomain, someDomainId } from "./find-domain.ts"
import { DOMAIN_EXAMPLE, NO_RESOLVER, noResolver } from "./routes.ts"
import { MOST_SENDING_NAME } from "./sending-records.ts"

/** What all shapes of `POST /api/v1/email/domains` have alike. */
export const SENDING_POST = {
  method: "POST",
  url: "/api/v1/email/domains",
  group: "email",
  counted: true,
  specGap: "The specification does not show the verb: POST, because it adds or checks one.",
} as const

/** Adds a sending domain. */
export const addSendingDomain = route({
  ...SENDING_POST,
  name: "addSendingDomain",
  summary: "Add a sending domain under a connected one",
  example: { body: { action: "add", domainId: DOMAIN_EXAMPLE, domain: "mail.acme.com" } },
  operation: "email.domains.add",
  body: z.object({
    action: z
      .literal("add")
      .describe("Adds a sending domain; one that is one is answered as it is"),
    domainId: someDomainId,
    domain: shortText(300).describe("The connected domain itself, or a name under it"),
  }),
  reply: z.object({
    id: idOf("the sending domain"),
    domain: z.string().describe("What stands behind the @"),
    status: sendingStatus,
  }),
  refuses: ["conflict", "not_found"],
  says: { ...CONFLICTS, conflict: MESSAGES.full },
  handle: async (ports, caller, { body }) => {
    const domain = await findDomain(ports, caller.companyId, body.domainId)
    if (domain === null) return { ok: false, refusal: noDomain(body.domainId) }
    const name = hostNameOf(body.domain)
    if (name === null || !isUnder(name, domain.name)) {
      const fault = `Must be ${domain.name} or a name under it.`
      return { ok: false, refusal: invalid({ domain: fault }) }
    }
    if (name.length > MOST_SENDING_NAME) {
      const fault = `Must have ${MOST_SENDING_NAME} characters at most: its records have longer names.`
      return { ok: false, refusal: invalid({ domain: fault }) }
    }
    const told = await addSendingDomainTo(ports, caller, domain, name)
    if ("refusal" in told) return { ok: false, refusal: told.refusal }
    const added = namedIn(told.view, name)
    if (added === null) throw new Error(`${name} was added, and is not there`)
    const { sendingDomainId: id, status } = added
    return { ok: true, body: { id, domain: name, status }, position: told.position }
  },
})

/** Checks a sending domain. */
export const checkSendingDomain = route({
  ...SENDING_POST,
  name: "checkSendingDomain",
  summary: "Check the records of a sending domain",
  example: { body: { action: "check", id: "sdom_4Zb0x7" } },
  operation: "email.domains.check",
  body: z.object({
    action: z.literal("check").describe("Asks the world for its records now"),
    id: shortText(100).describe("Id of the sending domain"),
  }),
  reply: z.object({ status: sendingStatus }),
  refuses: ["not_found", "unavailable"],
  says: { not_found: MESSAGES.no_sending_domain, unavailable: NO_RESOLVER },
  handle: async (ports, caller, { body }) => {
    const place = await findSender(ports, caller.companyId, parseSendingDomainId(body.id))
    if (place === null) return { ok: false, refusal: noSender() }
    try {
      const checked = await checkSender(ports, place, causeOf(caller))
      if (checked === null) return { ok: false, refusal: noSender() }
      const { sendingDomain, position } = checked
      return { ok: true, body: { status: sendingDomain.status }, position }
    } catch (error) {
      if (!isOutside(error)) throw error
      return { ok: false, refusal: noResolver() }
    }
  },
})

const noSender = () => refusal("not_found", MESSAGES.no_sending_domain)

/** The place of a sending domain of a company: it has few domains. Null where it has none of this id. */
async function findSender(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  sendingDomainId: SendingDomainId | null,
): Promise<SenderPlace | null> {
  if (sendingDomainId === null) return null
  for (const { domainId } of await runner.read(CLAIMS, claimsOf(companyId))) {
    const found = await runner.read(domainOf(companyId, domainId), sendingDomainOf(sendingDomainId))
    if (found !== null) return { companyId, domainId, sendingDomainId }
  }
  return null
}
