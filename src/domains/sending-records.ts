import type { ResolvedRecord, Resolver } from "../../adapters/providers/dns/port.ts"
import type { SendingFault, StoredZoneRecord } from "../../domain/domains/domain-events.ts"
import type { SendingDomain } from "../../domain/domains/domain-state.ts"
import { NULL_TARGET, RECORD_TTL_SECONDS } from "../../domain/domains/dns-records.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { domainsSettings, edgeAddresses } from "./settings.ts"

/** The host below a sending domain that receives bounces. */
const returnHostOf = (sendingDomain: string): string => `cp-bounce.${sendingDomain}`

/** The host that receives the bounces of all companies. */
const bounceHostOf = (nsDomain: string): string => `bounce.${nsDomain}`

/**
 * Keeps record names within 253 characters and return paths at `cp-bounce.` within 254 (RFC 5321 §4.5.3.1.3).
 */
export const MAX_SENDING_NAME_LENGTH = 200

const BOUNCE_PRIORITY = 10
const DMARC_POLICY = "v=DMARC1; p=none"

type PublishedKey = Pick<SendingDomain, "name" | "selector" | "publicKey">

/** The records of a sending domain: DKIM key, return path, and a default DMARC policy. */
export function sendingRecordsOf(
  { settings }: Pick<Ports, "settings">,
  { name, selector, publicKey }: PublishedKey,
): readonly StoredZoneRecord[] {
  const given = settings(domainsSettings)
  const row = (type: "MX" | "TXT", owner: string, content: string): StoredZoneRecord => {
    const priority = type === "MX" ? BOUNCE_PRIORITY : null
    const body = { type, name: owner, content, priority, ttl: RECORD_TTL_SECONDS }
    return { id: newId("rec"), ...body, source: "email" }
  }
  return [
    row("TXT", `${selector}._domainkey.${name}`, `v=DKIM1; k=rsa; p=${publicKey}`),
    row("MX", returnHostOf(name), bounceHostOf(given.NS_DOMAIN)),
    row("TXT", returnHostOf(name), spfPolicyOf(given)),
    row("TXT", `_dmarc.${name}`, DMARC_POLICY),
  ]
}

/** The SPF policy of our return path (RFC 7208). */
function spfPolicyOf(given: {
  readonly EDGE_ADDRESSES: string
  readonly MAIL_SPF?: string | undefined
}): string {
  const { ipv4, ipv6 } = edgeAddresses(given)
  const ownPolicies = [...ipv4.map((one) => `ip4:${one}`), ...ipv6.map((one) => `ip6:${one}`)]
  const others = given.MAIL_SPF === undefined ? [] : [given.MAIL_SPF]
  return ["v=spf1", ...ownPolicies, ...others, "-all"].join(" ")
}

/** The published state of a sending domain's records. */
export interface SendingRecordsStatus {
  readonly faults: readonly SendingFault[]
  readonly hasDmarc: boolean
}

/**
 * Checks records in DNS; the apex's DMARC policy applies too (RFC 7489 §6.6.3). @throws ProviderUnavailable,
 * ProviderOutcomeUnknown
 */
export async function checkSendingRecords(
  { resolver, settings }: Pick<Ports, "resolver" | "settings">,
  { name, selector, publicKey }: PublishedKey,
  apex: string,
): Promise<SendingRecordsStatus> {
  const bounceHost = bounceHostOf(settings(domainsSettings).NS_DOMAIN)
  const [keys, exchanges, policies, dmarc, dmarcAbove] = await Promise.all([
    textsAt(resolver, `${selector}._domainkey.${name}`),
    recordsAt(resolver, returnHostOf(name), "MX"),
    textsAt(resolver, returnHostOf(name)),
    textsAt(resolver, `_dmarc.${name}`),
    textsAt(resolver, `_dmarc.${apex}`),
  ])
  const spf = policies.filter((text) => /^v=spf1( |$)/i.test(text))
  const ownPolicies = dmarc.filter(isDmarcPolicy)
  // The apex's policy applies only if the name itself has none.
  const inForce = ownPolicies.length > 0 ? ownPolicies : dmarcAbove.filter(isDmarcPolicy)
  const isFaulty: Readonly<Record<SendingFault, boolean>> = {
    dkim: keys.length < 2 && publicKeyIn(keys[0] ?? "") !== publicKey,
    several_dkim: keys.length > 1,
    return_mx: !exchanges.some(({ content }) => content === bounceHost),
    null_mx: exchanges.some(({ content }) => content === NULL_TARGET),
    return_spf: spf.length === 0,
    several_spf: spf.length > 1,
    several_dmarc: inForce.length > 1,
  }
  const faults = (Object.keys(isFaulty) as SendingFault[]).filter((fault) => isFaulty[fault])
  return { faults, hasDmarc: inForce.length > 0 }
}

const isDmarcPolicy = (text: string): boolean => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text)

/** The key in a DKIM record, without white space (RFC 6376 §3.6.1). */
function publicKeyIn(text: string): string | null {
  const tags = text.split(";").map((tag) => tag.trim())
  return (
    tags
      .find((tag) => tag.startsWith("p="))
      ?.slice(2)
      .replaceAll(/\s/g, "") ?? null
  )
}

async function recordsAt(
  resolver: Resolver,
  name: string,
  type: "MX" | "TXT",
): Promise<readonly ResolvedRecord[]> {
  const { answers } = await resolver.query(name, type)
  return answers.filter((one) => one.type === type)
}

const textsAt = async (resolver: Resolver, name: string): Promise<readonly string[]> =>
  (await recordsAt(resolver, name, "TXT")).map(({ content }) => content)
