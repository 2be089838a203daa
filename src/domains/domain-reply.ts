import { z } from "zod"
import type { SendingFault, StoredZoneRecord } from "../../domain/domains/domain-events.ts"
import {
  APP_ADDRESS_STATUSES,
  DOMAIN_STATUSES,
  SENDING_STATUSES,
} from "../../domain/domains/domain-events.ts"
import type { AppAddress, SendingDomain } from "../../domain/domains/domain-state.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import { COPIED_RECORD_TYPES, WRITABLE_RECORD_TYPES } from "../../domain/domains/dns-records.ts"
import type { DomainRow } from "../../projections/domains/domains.ts"
import { describedId, isoTimeSchema } from "../frame/kernel/schema.ts"
import { domainToASCII, domainToUnicode } from "node:url"
import { parse } from "tldts"
import { MAX_NAME_LENGTH } from "../../domain/domains/host-names.ts"

/** The schema of a domain's status. */
export const domainStatus = z.enum(DOMAIN_STATUSES).meta({
  id: "DomainStatus",
  description:
    "`waiting`: its registrar does not name our name servers yet; `live`: it names them; `moved`: it named them, and now names others",
})

/** The schema of a sending domain's status. */
export const sendingStatus = z.enum(SENDING_STATUSES).meta({
  id: "SendingStatus",
  description:
    "`pending`: not all of its records were found yet; `verified`: it can send email; `failed`: its records have been wrong for three days",
})

export const RecordReply = z
  .object({
    id: describedId("the record"),
    type: z
      .enum([...WRITABLE_RECORD_TYPES, ...COPIED_RECORD_TYPES])
      .describe("CAA, SRV and NS are read-only"),
    name: z.string().describe("The complete name"),
    content: z.string().describe("An address, a host name, a text"),
    priority: z.int().nullable().describe("Priority of MX and SRV; null for other types"),
    ttl: z.int().describe("Time to live, seconds"),
    source: z
      .enum(["copied", "added", "email", "app"])
      .describe(
        "`copied` when the domain was connected, `added` through the API, for `email`, or for an `app` address",
      ),
  })
  .meta({ id: "DnsRecord", description: "A DNS record" })

/** The schema of a web address. */
export const AppAddressReply = z
  .object({
    id: describedId("the app address"),
    hostname: z.string().describe("The host name"),
    status: z
      .enum(APP_ADDRESS_STATUSES)
      .describe(
        "`waiting_dns`: its domain does not point here yet; `waiting_certificate`: it had no https visit yet; `live`; `failed`: its domain no longer points here",
      ),
    error: z.string().nullable().describe("The problem, or null"),
  })
  .meta({ id: "AppAddress", description: "A web address of the company's app" })

export const SendingDomainReply = z
  .object({
    id: describedId("the sending domain"),
    domainId: describedId("the connected domain above it"),
    domain: z.string().describe("The part after the @ of its addresses"),
    status: sendingStatus,
    error: z.string().nullable().describe("Problems and recommendations, or null"),
    checkedAt: isoTimeSchema.nullable().describe("When its records were last checked, or null"),
    parentDomain: z.string().describe("The connected domain above it"),
    parentStatus: domainStatus,
    suggestedSender: z.string().describe("A suggested sender address"),
  })
  .meta({ id: "SendingDomain", description: "A domain that mail is sent from" })

const ListedDomain = z.object({
  id: describedId("the domain"),
  domain: z.string().describe("Its name"),
  status: domainStatus,
})

/** The schema of a connected domain. */
export const DomainReply = z
  .object({
    id: describedId("the domain"),
    domain: z.string().describe("Its name"),
    status: domainStatus,
    nameServers: z.array(z.string()).describe("The name servers to set at the registrar"),
    replaces: z
      .array(z.string())
      .describe("The name servers at the registrar when it was connected"),
    registrar: z.string().nullable().describe("The registrar; null if unknown"),
    dnssecOn: z.boolean().describe("Whether DNSSEC is on at the registrar"),
    email: SendingDomainReply.nullable().describe("The sending domain with the same name"),
    domains: z.array(ListedDomain).describe("All domains of the company, in order of connection"),
    records: z.array(RecordReply).describe("Its records, without the name servers"),
    appAddresses: z.array(AppAddressReply).describe("The web addresses of the app"),
    copied: z
      .object({
        asked: z
          .array(z.string())
          .nullable()
          .describe(
            "The queried names, `@` for the domain itself; null if the complete zone was read",
          ),
        leftOut: z.array(z.string()).describe("Records that could not be copied, one line each"),
      })
      .describe("How its records were copied; records with other names were missed"),
    warnings: z
      .array(z.string())
      .describe("Problems to fix before the name servers are changed at the registrar"),
  })
  .meta({ id: "Domain", description: "A connected domain" })

/** The schema of the reply if no domain is connected. */
export const NoDomainReply = z.object({
  domain: z.null().describe("None is connected"),
  domains: z.array(ListedDomain).describe("Empty"),
})

/** Builds the reply for a record. */
export const recordReply = ({
  id,
  type,
  name,
  content,
  priority,
  ttl,
  source,
}: StoredZoneRecord) => {
  return { id, type, name, content, priority, ttl, source }
}

const MOVED = "The domain's registrar names other name servers. Set ours there again."

/** Builds the reply for a web address. */
export function appAddressReply({ appAddressId: id, hostname, status }: AppAddress) {
  return { id, hostname, status, error: status === "failed" ? MOVED : null }
}

const FAULTS: Readonly<Record<SendingFault, string>> = {
  dkim: "The DKIM record is missing or has another key. Add ours.",
  return_mx: "The MX record of cp-bounce is missing. Add it.",
  return_spf: "The SPF record of cp-bounce is missing. Add it.",
  several_spf:
    "cp-bounce has multiple SPF records, so receivers ignore all of them. Keep only ours.",
  several_dkim: "The DKIM name has multiple keys. Keep only ours.",
  null_mx:
    'cp-bounce also has an MX record of ".", which means that it accepts no mail. Remove it.',
  several_dmarc:
    "There are multiple DMARC policies, so receivers ignore all of them. Keep only one.",
}
const NO_DMARC = "There is no DMARC policy, so receivers may treat mails as spam. Add one."

/** A sending domain, from a stream or from a read model. */
interface SendingDomainSource extends Pick<
  SendingDomain,
  "sendingDomainId" | "name" | "status" | "faults" | "hasDmarc" | "checkedAt"
> {
  readonly domain: Pick<DomainView, "domainId" | "name" | "status">
}

/** Builds the reply for a sending domain. */
export function sendingDomainReply(of: SendingDomainSource): z.infer<typeof SendingDomainReply> {
  const { sendingDomainId: id, name, status, faults, hasDmarc, checkedAt, domain } = of
  const wrong = faults.map((fault) => FAULTS[fault])
  if (checkedAt !== null && !hasDmarc) wrong.push(NO_DMARC)
  return {
    id,
    domainId: domain.domainId,
    domain: name,
    status,
    error: wrong.length === 0 ? null : wrong.join(" "),
    checkedAt: checkedAt === null ? null : new Date(checkedAt).toISOString(),
    parentDomain: domain.name,
    parentStatus: domain.status,
    suggestedSender: `hello@${name}`,
  }
}

const DNSSEC =
  "DNSSEC is on at the registrar. Turn it off a day before you change the name servers, or the domain cannot be resolved."
const MIXED =
  "Its name mixes letters of multiple scripts, which is common in imitations of other names."

const listedReply = ({ domain_id: id, name: domain, status }: DomainRow) => {
  return { id, domain, status }
}

/** Builds the reply for a connected domain. */
export function domainReply(
  view: DomainView,
  all: readonly DomainRow[],
): z.infer<typeof DomainReply> {
  const { name: domain, domainId: id, status, dnssecOn, queriedNames, omitted } = view
  const apexSendingDomain = view.sendingDomains.find((one) => one.name === domain)
  const warnings = [
    ...(dnssecOn && status !== "live" ? [DNSSEC] : []),
    ...(hasMixedScripts(domain) ? [MIXED] : []),
  ]
  // A domain that was just connected is not in the read model yet.
  const others = all.filter((row) => row.domain_id !== id).map(listedReply)
  const position = all.findIndex((row) => row.domain_id === id)
  const domains = others.toSpliced(position === -1 ? others.length : position, 0, {
    id,
    domain,
    status,
  })
  return {
    id,
    domain,
    status,
    nameServers: [...view.nameServers],
    replaces: [...view.formerNameServers],
    registrar: view.registrar,
    dnssecOn,
    domains,
    warnings,
    email:
      apexSendingDomain === undefined
        ? null
        : sendingDomainReply({ ...apexSendingDomain, domain: view }),
    records: view.records.map(recordReply),
    appAddresses: view.appAddresses.map(appAddressReply),
    copied: { asked: queriedNames === null ? null : [...queriedNames], leftOut: [...omitted] },
  }
}

type ParsedDomain =
  | {
      readonly name: string
      /** Whether a label mixes scripts, which can imitate another name. */
      readonly hasMixedScripts: boolean
    }
  | { readonly fault: string }

/** Letters, marks, digits, dashes and dots; `domainToASCII` would cut or decode other characters. */
const WRITTEN = /^[\p{L}\p{M}\p{N}.-]+$/u
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Normalizes a host name to punycode, or null. `domainToASCII` does not validate: its result is checked (RFC
 * 1123 §2.1).
 */
export function parseHostname(text: string): string | null {
  if (!WRITTEN.test(text)) return null
  const name = domainToASCII(text)
  const labels = name.split(".")
  if (
    name.length > MAX_NAME_LENGTH ||
    labels.length < 2 ||
    !labels.every((one) => LABEL.test(one))
  ) {
    return null
  }
  // A numeric last label would make it an IP address, such as 0x7f.1.
  if (/^\d+$/.test(labels.at(-1) ?? "")) return null
  const shown = domainToUnicode(name)
  const isPlain = labels.every((label) => !label.startsWith("xn--")) || shown !== name
  return isPlain && domainToASCII(shown) === name && domainToASCII(name) === name ? name : null
}

/** Parses a domain that can be registered, which excludes names below such a domain. */
export function parseRegisteredDomain(text: string): ParsedDomain {
  const name = parseHostname(text)
  if (name === null) return { fault: "Must be a domain name, for example acme.com." }
  const { domain, isIp } = parse(name, { allowPrivateDomains: true })
  if (isIp === true || domain === null) {
    return { fault: `${name} is a public suffix: only names under it can be connected.` }
  }
  if (domain !== name) return { fault: `Must be the registered domain: ${domain}.` }
  return { name, hasMixedScripts: hasMixedScripts(name) }
}

const SCRIPTS = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Hebrew}/u,
  /\p{Script=Arabic}/u,
]

function hasMixedScripts(name: string): boolean {
  return domainToUnicode(name)
    .split(".")
    .some((label) => SCRIPTS.filter((script) => script.test(label)).length > 1)
}
