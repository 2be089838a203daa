import { z } from "zod"
import { DOMAIN_RESERVATIONS_STREAM, domainStreamOf } from "../../domain/domains/aggregates.ts"
import type { DomainCommand, DomainRefused } from "../../domain/domains/domain-commands.ts"
import { DOMAIN_REFUSAL_MESSAGES } from "../../domain/domains/domain-commands.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import { viewOfDomain, fullZoneOf } from "../../domain/domains/domain-views.ts"
import { reservationsOf } from "../../domain/domains/domain-reservations.ts"
import { parseDomainId } from "../../domain/domains/domain-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"
import { boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { formatZoneFile } from "../../domain/domains/zone-file.ts"
import { listDomains } from "../../projections/domains/domains.ts"
import { DomainReply, NoDomainReply, domainReply } from "./domain-reply.ts"

const RETRY_S = "60"

/** The parts that all variants of `POST /api/v1/domain` share. */
export const DOMAIN_POST_ROUTE = {
  method: "POST",
  url: "/api/v1/domain",
  group: "domains",
  isCounted: true,
  specGap:
    "Not specified: 409 if another company has it, it exists already, or it conflicts with other records.",
} as const

const SHOWN_BEYOND =
  "The specification shows neither the fields of a record nor the values of a status; `copied` and `warnings` are additions."

/** The message while DNS does not answer. */
export const RESOLVER_DOWN_MESSAGE = "DNS does not answer. Try again later."

/** The refusal while DNS does not answer. */
export function resolverDownRefusal(): Refusal {
  return { ...refusal("unavailable", RESOLVER_DOWN_MESSAGE), headers: { "retry-after": RETRY_S } }
}

export const DOMAIN_ID_EXAMPLE = "dom_4Zb0x7"

export const optionalDomainIdSchema = boundedText(100)
  .optional()
  .describe("Id of the domain; default: the company's first domain")

export const domainIdSchema = boundedText(100).describe("Id of the connected domain")

const NO_DOMAIN = "No connected domain has this id. List domains to see their ids."

/** The refusal of an unknown domain. @param named the requested id, if any */
export const domainNotFound = (named?: string): Refusal =>
  refusal("not_found", named === undefined ? "Connect a domain first." : NO_DOMAIN)

/** Finds a connected domain by id, or the company's first one; null if there is none. */
export async function findDomain(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  named: string | undefined,
): Promise<DomainView | null> {
  if (named !== undefined) {
    const domainId = parseDomainId(named)
    return domainId === null
      ? null
      : ports.runner.read(domainStreamOf(companyId, domainId), viewOfDomain)
  }
  for (const { domainId } of await ports.runner.read(
    DOMAIN_RESERVATIONS_STREAM,
    reservationsOf(companyId),
  )) {
    const view = await ports.runner.read(domainStreamOf(companyId, domainId), viewOfDomain)
    // A reservation without a domain was interrupted while connecting.
    if (view !== null) return view
  }
  return null
}

/** The result of a command to a connected domain: its state afterwards, or a refusal. */
export type DomainCommandResult =
  { readonly view: DomainView; readonly position: Position | null } | { readonly refusal: Refusal }

/** Executes a command on a connected domain for a caller. */
export async function executeDomainCommand(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  { domainId }: Pick<DomainView, "domainId">,
  command: DomainCommand,
): Promise<DomainCommandResult> {
  const stream = domainStreamOf(caller.companyId, domainId)
  const outcome = await ports.runner.execute(stream, command, causeOf(caller), viewOfDomain)
  if (!outcome.accepted) return { refusal: domainRefusal(outcome.refusal) }
  if (outcome.view === null) return { refusal: domainNotFound(domainId) }
  return { view: outcome.view, position: outcome.position }
}

/** Converts a domain refusal into an API refusal (docs/decisions/domains.md). */
export function domainRefusal({ code, message }: Pick<DomainRefused, "code" | "message">): Refusal {
  switch (code) {
    case "no_domain":
    case "no_record":
    case "no_sending_domain":
      return refusal("not_found", message)
    case "read_only":
    case "same":
    case "full":
    case "delegated":
    case "voided":
      return refusal("conflict", message)
    case "clash":
      return invalidRefusal({ record: message })
    case "not_under":
      return invalidRefusal({ name: message })
  }
}

/** The example messages of conflicts, for the API document. */
export const CONFLICT_MESSAGES = {
  conflict: DOMAIN_REFUSAL_MESSAGES.same,
  not_found: NO_DOMAIN,
} as const

/** The schema of `ok` in replies without data. */
export const doneSchema = z.literal(true).describe("Always true")

export const getDomain = route({
  name: "getDomain",
  method: "GET",
  url: DOMAIN_POST_ROUTE.url,
  group: DOMAIN_POST_ROUTE.group,
  isCounted: true,
  summary: "Read a connected domain",
  operation: "dns.read",
  specGap: SHOWN_BEYOND,
  query: z.object({ domainId: optionalDomainIdSchema }),
  reply: z.union([DomainReply, NoDomainReply]),
  refusalCodes: ["not_found"],
  readModels: ["domains"],
  handle: async (ports, { companyId }, { query: { domainId } }) => {
    const view = await findDomain(ports, companyId, domainId)
    if (view === null && domainId !== undefined) {
      return { ok: false, refusal: domainNotFound(domainId) }
    }
    if (view === null) return { ok: true, body: { domain: null, domains: [] } }
    const all = await ports.readAs(companyId, (db) => listDomains(db, companyId))
    return { ok: true, body: domainReply(view, all) }
  },
})

/** Exports a domain's records as a zone file. */
export const exportRecords = route({
  ...DOMAIN_POST_ROUTE,
  name: "exportRecords",
  summary: "Export a domain's records as a zone file",
  example: { body: { action: "export_records" } },
  operation: "dns.read",
  body: z.object({
    action: z.literal("export_records").describe("All records as one text"),
    domainId: optionalDomainIdSchema,
  }),
  reply: z.object({
    domain: z.string().describe("The domain"),
    file: z.string().describe("A standard zone file (RFC 1035)"),
  }),
  refusalCodes: ["not_found"],
  handle: async ({ runner }, { companyId }, { body }) => {
    const view = await findDomain({ runner }, companyId, body.domainId)
    const zone =
      view === null ? null : await runner.read(domainStreamOf(companyId, view.domainId), fullZoneOf)
    if (zone === null) return { ok: false, refusal: domainNotFound(body.domainId) }
    return { ok: true, body: { domain: zone.apex, file: formatZoneFile(zone) } }
  },
})
