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

/** The parts that all variants of `POST /api/v1/email/domains` share. */
export const SENDING_DOMAIN_POST_ROUTE = {
  method: "POST",
  url: "/api/v1/email/domains",
  group: "email",
  isCounted: true,
  specGap: "The specification does not show the method: POST, because it adds or checks one.",
} as const

export const addSendingDomain = route({
  ...SENDING_DOMAIN_POST_ROUTE,
  name: "addSendingDomain",
  summary: "Add a sending domain under a connected one",
  example: { body: { action: "add", domainId: DOMAIN_ID_EXAMPLE, domain: "mail.acme.com" } },
  operation: "email.domains.add",
  body: z.object({
    action: z
      .literal("add")
      .describe("Adds a sending domain; an existing one is returned unchanged"),
    domainId: domainIdSchema,
    domain: boundedText(300).describe("The connected domain itself, or a name under it"),
  }),
  reply: z.object({
    id: describedId("the sending domain"),
    domain: z.string().describe("The part after the @ of its addresses"),
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
      const fault = `Must be at most ${MAX_SENDING_NAME_LENGTH} characters, because its records have longer names.`
      return { ok: false, refusal: invalidRefusal({ domain: fault }) }
    }
    const result = await addSendingDomainTo(ports, caller, domain, name)
    if ("refusal" in result) return { ok: false, refusal: result.refusal }
    const added = sendingDomainIn(result.view, name)
    if (added === null) throw new Error(`${name} was added but is missing`)
    const { sendingDomainId: id, status } = added
    return { ok: true, body: { id, domain: name, status }, position: result.position }
  },
})

export const checkSendingDomain = route({
  ...SENDING_DOMAIN_POST_ROUTE,
  name: "checkSendingDomain",
  summary: "Check the records of a sending domain",
  example: { body: { action: "check", id: "sdom_4Zb0x7" } },
  operation: "email.domains.check",
  body: z.object({
    action: z.literal("check").describe("Queries DNS for its records now"),
    id: boundedText(100).describe("Id of the sending domain"),
  }),
  reply: z.object({ status: sendingStatus }),
  refusalCodes: ["not_found", "unavailable"],
  refusalMessages: {
    not_found: DOMAIN_REFUSAL_MESSAGES.no_sending_domain,
    unavailable: RESOLVER_DOWN_MESSAGE,
  },
  handle: async (ports, caller, { body }) => {
    const reference = await findSendingDomain(
      ports,
      caller.companyId,
      parseSendingDomainId(body.id),
    )
    if (reference === null) return { ok: false, refusal: sendingDomainNotFound() }
    try {
      const checked = await recheckSendingDomain(ports, reference, causeOf(caller))
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

/** Finds a sending domain of a company by searching its few domains; null if it has none with this id. */
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

/** The id of a name's sending domain, derived so that concurrent requests create one key. */
const sendingDomainIdFor = (
  companyId: CompanyId,
  { domainId }: Pick<DomainView, "domainId">,
  name: string,
) => derivedId("sdom", companyId, domainId, name)

/** Adds a sending domain unless the name is one already. */
export async function addSendingDomainTo(
  ports: Pick<Ports, "dkimKeys" | "runner" | "settings">,
  caller: Caller,
  domain: DomainView,
  name: string,
): Promise<DomainCommandResult> {
  const known = sendingDomainIn(domain, name)
  if (known !== null) return { view: domain, position: null }
  // Making a key takes 0.1 s of CPU, so the limit is checked first.
  if (domain.sendingDomains.length >= MAX_SENDING_DOMAINS) {
    return { refusal: refusal("conflict", DOMAIN_REFUSAL_MESSAGES.full) }
  }
  const { companyId } = caller
  const sendingDomainId = sendingDomainIdFor(companyId, domain, name)
  const { selector, publicKey } = await ports.dkimKeys.getOrCreate({ companyId, sendingDomainId })
  const key = { name, selector, publicKey }
  const records = sendingRecordsOf(ports, key)
  const command = { type: "AddSendingDomain", sendingDomainId, ...key, records } as const
  const result = await executeDomainCommand(ports, caller, domain, command)
  if ("refusal" in result) await ports.dkimKeys.remove({ companyId, sendingDomainId })
  return result
}

/** Finds the sending domain with exactly this name, or null. */
export function sendingDomainIn(
  { sendingDomains }: DomainView,
  name: string,
): Readonly<SendingDomain> | null {
  return sendingDomains.find((one) => one.name === name) ?? null
}

interface SendingDomainReference {
  readonly companyId: CompanyId
  readonly domainId: DomainView["domainId"]
  readonly sendingDomainId: SendingDomainId
}

/**
 * Checks a sending domain's records in DNS; null if it was removed. @throws ProviderUnavailable,
 * ProviderOutcomeUnknown
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
  const outcome = await ports.runner.execute(stream, command, cause, viewOfDomain)
  const found = outcome.accepted ? sendingDomainWithId(outcome.view, sendingDomainId) : null
  if (!outcome.accepted || found === null) return null
  return { sendingDomain: found, position: outcome.position }
}

function sendingDomainWithId(
  domain: DomainView | null,
  id: SendingDomainId,
): Readonly<SendingDomain> | null {
  return domain?.sendingDomains.find((one) => one.sendingDomainId === id) ?? null
}

/** Senders are listed for this time after their last mail, milliseconds. */
const SENDERS_SHOWN_MS = 90 * 86_400_000

/** Lists sending domains, and the addresses that recently sent mail. */
export const sendingDomainList = route({
  name: "listSendingDomains",
  method: "GET",
  url: "/api/v1/email/domains",
  group: "email",
  summary: "List sending domains and senders",
  operation: "email.domains.read",
  specGap: "The specification does not list the values of a status: pending, verified, failed.",
  isCounted: true,
  reply: z.object({
    domains: z.array(SendingDomainReply).describe("In order of creation"),
    senders: z.array(z.string()).describe("The addresses that sent mail within 90 days"),
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
