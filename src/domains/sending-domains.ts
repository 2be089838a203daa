/** `POST /api/v1/email/domains`: adding a sending domain, and checking one. */
import { z } from "zod"
import { isProviderError } from "../../adapters/providers/provider-errors.ts"
import { DOMAIN_REFUSAL_MESSAGES } from "../../domain/domains/domain-commands.ts"
import { isSameOrSubdomain } from "../../domain/domains/host-names.ts"
import type { SendingDomainId } from "../../domain/domains/domain-events.ts"
import { parseSendingDomainId } from "../../domain/domains/domain-events.ts"
import { DOMAIN_RESERVATIONS_STREAM, domainStreamOf } from "../../domain/domains/aggregates.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import { findSendingDomainById, viewOfDomain } from "../../domain/domains/domain-views.ts"
import { reservationsOf } from "../../domain/domains/domain-reservations.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"
import { describedId, boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import {
  parseHostname,
  sendingStatus,
  SendingDomainReply,
  sendingDomainReply,
} from "./domain-reply.ts"
import type { DomainCommandResult } from "./domain-requests.ts"
import {
  CONFLICT_MESSAGES,
  findDomain,
  domainNotFound,
  domainIdSchema,
  executeDomainCommand,
  DOMAIN_ID_EXAMPLE,
  RESOLVER_DOWN_MESSAGE,
  resolverDownRefusal,
} from "./domain-requests.ts"
import {
  MAX_SENDING_NAME_LENGTH,
  sendingRecordsOf,
  checkSendingRecords,
} from "./sending-records.ts"
import { MAX_SENDING_DOMAINS } from "../../domain/domains/domain.ts"
import type { SendingDomain } from "../../domain/domains/domain-state.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { listSendingDomains } from "../../projections/domains/sending-domains.ts"
import { listSenders } from "../../projections/domains/senders.ts"

/** What all shapes of `POST /api/v1/email/domains` have alike. */
export const SENDING_DOMAIN_POST_ROUTE = {
  method: "POST",
  url: "/api/v1/email/domains",
  group: "email",
  isCounted: true,
  specGap: "The specification does not show the verb: POST, because it adds or checks one.",
} as const

/** Adds a sending domain. */
export const addSendingDomain = route({
  ...SENDING_DOMAIN_POST_ROUTE,
  name: "addSendingDomain",
  summary: "Add a sending domain under a connected one",
  example: { body: { action: "add", domainId: DOMAIN_ID_EXAMPLE, domain: "mail.acme.com" } },
  operation: "email.domains.add",
  body: z.object({
    action: z
      .literal("add")
      .describe("Adds a sending domain; one that is one is answered as it is"),
    domainId: domainIdSchema,
    domain: boundedText(300).describe("The connected domain itself, or a name under it"),
  }),
  reply: z.object({
    id: describedId("the sending domain"),
    domain: z.string().describe("What stands behind the @"),
    status: sendingStatus,
  }),
  refusalCodes: ["conflict", "not_found"],
  refusalMessages: { ...CONFLICT_MESSAGES, conflict: DOMAIN_REFUSAL_MESSAGES.full },
  handle: async (ports, caller, { body }) => {
    const domain = await findDomain(ports, caller.companyId, body.domainId)
    if (domain === null) return { ok: false, refusal: domainNotFound(body.domainId) }
    const name = parseHostname(body.domain)
    if (name === null || !isSameOrSubdomain(name, domain.name)) {
      const fault = `Must be ${domain.name} or a name under it.`
      return { ok: false, refusal: invalidRefusal({ domain: fault }) }
    }
    if (name.length > MAX_SENDING_NAME_LENGTH) {
      const fault = `Must have ${MAX_SENDING_NAME_LENGTH} characters at most: its records have longer names.`
      return { ok: false, refusal: invalidRefusal({ domain: fault }) }
    }
    const told = await addSendingDomainTo(ports, caller, domain, name)
    if ("refusal" in told) return { ok: false, refusal: told.refusal }
    const added = sendingDomainIn(told.view, name)
    if (added === null) throw new Error(`${name} was added, and is not there`)
    const { sendingDomainId: id, status } = added
    return { ok: true, body: { id, domain: name, status }, position: told.position }
  },
})

/** Checks a sending domain. */
export const checkSendingDomain = route({
  ...SENDING_DOMAIN_POST_ROUTE,
  name: "checkSendingDomain",
  summary: "Check the records of a sending domain",
  example: { body: { action: "check", id: "sdom_4Zb0x7" } },
  operation: "email.domains.check",
  body: z.object({
    action: z.literal("check").describe("Asks the world for its records now"),
    id: boundedText(100).describe("Id of the sending domain"),
  }),
  reply: z.object({ status: sendingStatus }),
  refusalCodes: ["not_found", "unavailable"],
  refusalMessages: {
    not_found: DOMAIN_REFUSAL_MESSAGES.no_sending_domain,
    unavailable: RESOLVER_DOWN_MESSAGE,
  },
  handle: async (ports, caller, { body }) => {
    const place = await findSendingDomain(ports, caller.companyId, parseSendingDomainId(body.id))
    if (place === null) return { ok: false, refusal: sendingDomainNotFound() }
    try {
      const checked = await recheckSendingDomain(ports, place, causeOf(caller))
      if (checked === null) return { ok: false, refusal: sendingDomainNotFound() }
      const { sendingDomain, position } = checked
      return { ok: true, body: { status: sendingDomain.status }, position }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return { ok: false, refusal: resolverDownRefusal() }
    }
  },
})

const sendingDomainNotFound = () => refusal("not_found", DOMAIN_REFUSAL_MESSAGES.no_sending_domain)

/** The place of a sending domain of a company: it has few domains. Null where it has none of this id. */
async function findSendingDomain(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  sendingDomainId: SendingDomainId | null,
): Promise<SendingDomainReference | null> {
  if (sendingDomainId === null) return null
  for (const { domainId } of await runner.read(
    DOMAIN_RESERVATIONS_STREAM,
    reservationsOf(companyId),
  )) {
    const found = await runner.read(
      domainStreamOf(companyId, domainId),
      findSendingDomainById(sendingDomainId),
    )
    if (found !== null) return { companyId, domainId, sendingDomainId }
  }
  return null
}

/** The id of a name's sending domain: two who add it at once make one key. */
const sendingDomainIdFor = (
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
): Promise<DomainCommandResult> {
  const known = sendingDomainIn(domain, name)
  if (known !== null) return { view: domain, position: null }
  // A key takes a tenth of a second of a processor: none is made for a name that is refused anyway.
  if (domain.sendingDomains.length >= MAX_SENDING_DOMAINS) {
    return { refusal: refusal("conflict", DOMAIN_REFUSAL_MESSAGES.full) }
  }
  const { companyId } = caller
  const sendingDomainId = sendingDomainIdFor(companyId, domain, name)
  const { selector, publicKey } = await ports.dkimKeys.create({ companyId, sendingDomainId })
  const key = { name, selector, publicKey }
  const records = sendingRecordsOf(ports, key)
  const command = { type: "AddSendingDomain", sendingDomainId, ...key, records } as const
  const told = await executeDomainCommand(ports, caller, domain, command)
  if ("refusal" in told) await ports.dkimKeys.remove({ companyId, sendingDomainId })
  return told
}

/** The sending domain of exactly this name; null where there is none. */
export function sendingDomainIn(
  { sendingDomains }: DomainView,
  name: string,
): Readonly<SendingDomain> | null {
  return sendingDomains.find((one) => one.name === name) ?? null
}

/** A sending domain where it is. */
interface SendingDomainReference {
  readonly companyId: CompanyId
  readonly domainId: DomainView["domainId"]
  readonly sendingDomainId: SendingDomainId
}

/**
 * Asks the world for the records of a sending domain, and records what it says.
 *
 * @returns how it stands now; null where there is none any more
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function recheckSendingDomain(
  ports: Pick<Ports, "resolver" | "runner" | "settings">,
  { companyId, domainId, sendingDomainId }: SendingDomainReference,
  cause: Cause,
) {
  const stream = domainStreamOf(companyId, domainId)
  const known = await ports.runner.read(stream, findSendingDomainById(sendingDomainId))
  if (known === null) return null
  const seen = await checkSendingRecords(ports, known.sendingDomain, known.domain.name)
  const command = { type: "CheckSendingDomain", sendingDomainId, ...seen } as const
  const said = await ports.runner.execute(stream, command, cause, viewOfDomain)
  const found = said.accepted ? sendingDomainWithId(said.view, sendingDomainId) : null
  if (!said.accepted || found === null) return null
  return { sendingDomain: found, position: said.position }
}

/** The sending domain of an id in a domain; null where it is not there. */
function sendingDomainWithId(
  domain: DomainView | null,
  id: SendingDomainId,
): Readonly<SendingDomain> | null {
  return domain?.sendingDomains.find((one) => one.sendingDomainId === id) ?? null
}

/** Senders are shown for so long, milliseconds. */
const SENDERS_SHOWN_MS = 90 * 86_400_000

/** Lists sending domains, and the addresses that mail was sent from. */
export const sendingDomainList = route({
  name: "listSendingDomains",
  method: "GET",
  url: "/api/v1/email/domains",
  group: "email",
  summary: "List sending domains and senders",
  operation: "email.domains.read",
  specGap: "The specification does not show the words of a status: pending, verified, failed.",
  isCounted: true,
  reply: z.object({
    domains: z.array(SendingDomainReply).describe("The first one first"),
    senders: z.array(z.string()).describe("The addresses that mail was sent from within 90 days"),
  }),
  readModels: ["senders", "sending-domains"],
  handle: async (ports, { companyId }) => {
    const rows = await ports.readAs(companyId, (db) => listSendingDomains(db, companyId))
    const since = new Date(ports.clock.now() - SENDERS_SHOWN_MS)
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
