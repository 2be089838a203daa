/** Connected domains as answers show them. */
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

/** How a domain stands. */
export const domainStatus = z.enum(DOMAIN_STATUSES).meta({
  id: "DomainStatus",
  description:
    "`waiting`: its registrar does not name our name servers yet; `live`: it does; `moved`: it did, and names others now",
})

/** How a sending domain stands. */
export const sendingStatus = z.enum(SENDING_STATUSES).meta({
  id: "SendingStatus",
  description:
    "`pending`: its records were not all seen yet; `verified`: mail can be sent from it; `failed`: its records have been wrong for three days",
})

/** A record as answers show it. */
export const RecordReply = z
  .object({
    id: describedId("the record"),
    type: z
      .enum([...WRITABLE_RECORD_TYPES, ...COPIED_RECORD_TYPES])
      .describe("CAA, SRV and NS are only read"),
    name: z.string().describe("The whole name"),
    content: z.string().describe("An address, a host name, a text"),
    priority: z.int().nullable().describe("Of MX and SRV; null for others"),
    ttl: z.int().describe("Seconds for which it may be kept"),
    source: z
      .enum(["copied", "added", "email", "app"])
      .describe("`copied` at connecting, `added` by a call, for `email`, or for an `app` address"),
  })
  .meta({ id: "DnsRecord", description: "A DNS record" })

/** A web address as answers show it. */
export const AppAddressReply = z
  .object({
    id: describedId("the app address"),
    hostname: z.string().describe("The host name"),
    status: z
      .enum(APP_ADDRESS_STATUSES)
      .describe(
        "`waiting_dns`: its domain does not point here; `waiting_certificate`: nobody came to it yet by https; `live`; `failed`: its domain pointed here, and does not any more",
      ),
    error: z.string().nullable().describe("What is wrong; null where nothing is"),
  })
  .meta({ id: "AppAddress", description: "A web address that leads to the company's app" })

/** A sending domain as answers show it. */
export const SendingDomainReply = z
  .object({
    id: describedId("the sending domain"),
    domainId: describedId("the connected domain that it is under"),
    domain: z.string().describe("What stands behind the @"),
    status: sendingStatus,
    error: z.string().nullable().describe("What is wrong, or could be better; null for nothing"),
    checkedAt: isoTimeSchema.nullable().describe("When its records were last seen; null before"),
    parentDomain: z.string().describe("The connected domain that it is under"),
    parentStatus: domainStatus,
    suggestedSender: z.string().describe("An address to send from"),
  })
  .meta({ id: "SendingDomain", description: "A domain that mail is sent from" })

/** One of a company's domains. */
const ListedDomain = z.object({
  id: describedId("the domain"),
  domain: z.string().describe("Its name"),
  status: domainStatus,
})

/** A connected domain as answers show it. */
export const DomainReply = z
  .object({
    id: describedId("the domain"),
    domain: z.string().describe("Its name"),
    status: domainStatus,
    nameServers: z.array(z.string()).describe("What its registrar is to name"),
    replaces: z.array(z.string()).describe("What its registrar named when it was connected"),
    registrar: z.string().nullable().describe("Where it is registered; null where nobody says so"),
    dnssecOn: z.boolean().describe("Whether its registrar vouches for another signer"),
    email: SendingDomainReply.nullable().describe("The sending domain of its own name"),
    domains: z.array(ListedDomain).describe("All domains of the company, the first one first"),
    records: z.array(RecordReply).describe("Its records, beside the name servers"),
    appAddresses: z.array(AppAddressReply).describe("The web addresses that lead to the app"),
    copied: z
      .object({
        asked: z
          .array(z.string())
          .nullable()
          .describe("The names that were asked for, `@` for its own; null where all were given"),
        leftOut: z.array(z.string()).describe("What could not be copied, a line each"),
      })
      .describe("How its records were copied: what has another name was missed"),
    warnings: z.array(z.string()).describe("What to see to before its registrar is changed"),
  })
  .meta({ id: "Domain", description: "A connected domain" })

/** What answers where none is connected. */
export const NoDomainReply = z.object({
  domain: z.null().describe("None is connected"),
  domains: z.array(ListedDomain).describe("Empty"),
})

/** A record as answers show it. */
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

const MOVED = "The domain's registrar names other name servers."

/** A web address as answers show it. */
export function appAddressReply({ appAddressId: id, hostname, status }: AppAddress) {
  return { id, hostname, status, error: status === "failed" ? MOVED : null }
}

const FAULTS: Readonly<Record<SendingFault, string>> = {
  dkim: "The DKIM key is not there, or another one is.",
  return_mx: "The MX record of cp-bounce is not there.",
  return_spf: "The SPF record of cp-bounce is not there.",
  several_spf: "cp-bounce has several SPF records: receivers take that for none.",
  several_dkim: "The DKIM key's name has several keys: remove all but ours.",
  null_mx: 'cp-bounce also has an MX record of ".", which says that it takes no mail: remove it.',
  several_dmarc: "There are several DMARC policies: receivers take that for none.",
}
const NO_DMARC = "There is no DMARC policy: receivers may take mails for spam."

/** A sending domain, whatever it was read from. */
interface SendingDomainSource extends Pick<
  SendingDomain,
  "sendingDomainId" | "name" | "status" | "faults" | "hasDmarc" | "checkedAt"
> {
  readonly domain: Pick<DomainView, "domainId" | "name" | "status">
}

/** A sending domain as answers show it. */
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
  "DNSSEC is on at the registrar: turn it off a day before the name servers are changed, or the domain cannot be found."
const MIXED = "Its name has letters of several scripts, which imitations have."

/** A domain in a list of all. */
const listedReply = ({ domain_id: id, name: domain, status }: DomainRow) => {
  return { id, domain, status }
}

/** A connected domain as answers show it. */
export function domainReply(
  view: DomainView,
  all: readonly DomainRow[],
): z.infer<typeof DomainReply> {
  const { name: domain, domainId: id, status, dnssecOn, queriedNames, omitted } = view
  const own = view.sendingDomains.find((one) => one.name === domain)
  const warnings = [
    ...(dnssecOn && status !== "live" ? [DNSSEC] : []),
    ...(hasMixedScripts(domain) ? [MIXED] : []),
  ]
  // One that was connected just now is not in the list yet.
  const others = all.filter((row) => row.domain_id !== id).map(listedReply)
  const before = all.findIndex((row) => row.domain_id === id)
  const domains = others.toSpliced(before === -1 ? others.length : before, 0, {
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
    email: own === undefined ? null : sendingDomainReply({ ...own, domain: view }),
    records: view.records.map(recordReply),
    appAddresses: view.appAddresses.map(appAddressReply),
    copied: { asked: queriedNames === null ? null : [...queriedNames], leftOut: [...omitted] },
  }
}

/** A domain that somebody can have registered, or what is wrong with it. */
type ParsedDomain =
  | {
      readonly name: string
      /** Whether letters of several scripts stand in one label, as where one name imitates another. */
      readonly hasMixedScripts: boolean
    }
  | { readonly fault: string }

/** Letters, marks, digits, dashes and dots: `domainToASCII` cuts or decodes whatever else there is. */
const WRITTEN = /^[\p{L}\p{M}\p{N}.-]+$/u
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * The form of a host name: small letters, punycode; null where it cannot be one. What `domainToASCII` lets
 * through is looked at again, for it is no check (RFC 1123 §2.1).
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
  // The last label is never a number: 0x7f.1 is an address.
  if (/^\d+$/.test(labels.at(-1) ?? "")) return null
  const shown = domainToUnicode(name)
  const isPlain = labels.every((label) => !label.startsWith("xn--")) || shown !== name
  return isPlain && domainToASCII(shown) === name && domainToASCII(name) === name ? name : null
}

/** Reads a domain that is to be connected: one that a registry gives out, and not a name under it. */
export function parseRegisteredDomain(text: string): ParsedDomain {
  const name = parseHostname(text)
  if (name === null) return { fault: "Must be a domain name such as acme.com." }
  const { domain, isIp } = parse(name, { allowPrivateDomains: true })
  if (isIp === true || domain === null) {
    return { fault: `${name} is nobody's alone: names under it are given out.` }
  }
  if (domain !== name) return { fault: `Must be the whole domain: ${domain}.` }
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

/** Whether a label of a name has letters of several scripts that look alike. */
function hasMixedScripts(name: string): boolean {
  return domainToUnicode(name)
    .split(".")
    .some((label) => SCRIPTS.filter((script) => script.test(label)).length > 1)
}
