/** `POST /api/v1/email/domains`: adding a sending domain, and checking one. */
import { z } from "zod"
import { isOutside } from "../../adapters/providers/outside.ts"
import { MESSAGES } from "../../domain/domains/domain-commands.ts"
import { isUnder } from "../../domain/domains/host-names.ts"
import type { SendingDomainId } from "../../domain/domains/domain-events.ts"
import { parseSendingDomainId } from "../../domain/domains/domain-events.ts"
import { CLAIMS, domainOf } from "../../domain/domains/aggregates.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import { sendingDomainOf, domainView } from "../../domain/domains/domain-views.ts"
import { claimsOf } from "../../domain/domains/domains.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { causeOf } from "../frame/routes/call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalid } from "../frame/routes/checks/7-values.ts"
import { idOf, shortText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import {
  hostNameOf,
  sendingStatus,
  SendingDomainReply,
  sendingDomainReply,
} from "./domain-reply.ts"
import type { Told } from "./find-domain.ts"
import {
  CONFLICTS,
  findDomain,
  noDomain,
  someDomainId,
  tellDomain,
  DOMAIN_EXAMPLE,
  NO_RESOLVER,
  noResolver,
} from "./find-domain.ts"
import { MOST_SENDING_NAME, recordsOf, lookAtRecords } from "./sending-records.ts"
import { MOST_SENDING_DOMAINS } from "../../domain/domains/domain.ts"
import type { SendingDomain } from "../../domain/domains/domain-state.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { listSendingDomains } from "../../projections/domains/sending-domains.ts"
import { listSenders } from "../../projections/domains/senders.ts"

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

/** The id of a name's sending domain: two who add it at once make one key. */
const idOfSender = (
  companyId: CompanyId,
  { domainId }: Pick<DomainView, "domainId">,
  name: string,
) => derivedId("sdom", companyId, domainId, name)

/** Adds a sending domain, unless the name is one already. */
export async function addSendingDomainTo(
  ports: Pick<Ports, "dkimKeys" | "runner" | "settings">,
  caller: Caller,
  domain: DomainView,
  name: string,
): Promise<Told> {
  const known = namedIn(domain, name)
  if (known !== null) return { view: domain, position: null }
  // A key takes a tenth of a second of a processor: none is made for a name that is refused anyway.
  if (domain.sendingDomains.length >= MOST_SENDING_DOMAINS) {
    return { refusal: refusal("conflict", MESSAGES.full) }
  }
  const { companyId } = caller
  const sendingDomainId = idOfSender(companyId, domain, name)
  const { selector, publicKey } = await ports.dkimKeys.create({ companyId, sendingDomainId })
  const key = { name, selector, publicKey }
  const records = recordsOf(ports, key)
  const command = { type: "AddSendingDomain", sendingDomainId, ...key, records } as const
  const told = await tellDomain(ports, caller, domain, command)
  if ("refusal" in told) await ports.dkimKeys.remove({ companyId, sendingDomainId })
  return told
}

/** The sending domain of exactly this name; null where there is none. */
export function namedIn(
  { sendingDomains }: DomainView,
  name: string,
): Readonly<SendingDomain> | null {
  return sendingDomains.find((one) => one.name === name) ?? null
}

/** A sending domain where it is. */
interface SenderPlace {
  readonly companyId: CompanyId
  readonly domainId: DomainView["domainId"]
  readonly sendingDomainId: SendingDomainId
}

/**
 * Asks the world for the records of a sending domain, and records what it says.
 *
 * @returns how it stands now; null where there is none any more
 * @throws ProviderUnavailable, ProviderSilent
 */
export async function checkSender(
  ports: Pick<Ports, "resolver" | "runner" | "settings">,
  { companyId, domainId, sendingDomainId }: SenderPlace,
  cause: Cause,
) {
  const stream = domainOf(companyId, domainId)
  const known = await ports.runner.read(stream, sendingDomainOf(sendingDomainId))
  if (known === null) return null
  const seen = await lookAtRecords(ports, known.sendingDomain, known.domain.name)
  const command = { type: "CheckSendingDomain", sendingDomainId, ...seen } as const
  const said = await ports.runner.execute(stream, command, cause, domainView)
  const found = said.accepted ? senderIn(said.view, sendingDomainId) : null
  if (!said.accepted || found === null) return null
  return { sendingDomain: found, position: said.position }
}

/** The sending domain of an id in a domain; null where it is not there. */
function senderIn(domain: DomainView | null, id: SendingDomainId): Readonly<SendingDomain> | null {
  return domain?.sendingDomains.find((one) => one.sendingDomainId === id) ?? null
}

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
