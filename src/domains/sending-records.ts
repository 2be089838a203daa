/** The records that mail from a domain needs, and whether the world sees them. */
import type { ResolvedRecord, Resolver } from "../../adapters/providers/dns/port.ts"
import type { SendingFault, StoredZoneRecord } from "../../domain/domains/domain-events.ts"
import type { SendingDomain } from "../../domain/domains/domain-state.ts"
import { NULL_TARGET, RECORD_TTL_SECONDS } from "../../domain/domains/dns-records.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { domainsSettings, edgeAddresses } from "./settings.ts"

/** Below a sending domain: whom mails come back to that cannot be delivered. */
const returnHostOf = (sendingDomain: string): string => `cp-bounce.${sendingDomain}`

/** The host that takes what comes back, of whatever company. */
const bounceHostOf = (nsDomain: string): string => `bounce.${nsDomain}`

/**
 * Characters of a sending domain: the names of its records fit into 253, and the return path of its mails,
 * an address at `cp-bounce.` of it, into 254 (RFC 5321 §4.5.3.1.3).
 */
export const MAX_SENDING_NAME_LENGTH = 200

const BOUNCE_PRIORITY = 10
const DMARC_POLICY = "v=DMARC1; p=none"

/** A key, as its record says it. */
type PublishedKey = Pick<SendingDomain, "name" | "selector" | "publicKey">

/** The records of a sending domain: its key, the return path, and a policy where there is none. */
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

/** Who may send with our return path (RFC 7208). */
function spfPolicyOf(given: {
  readonly EDGE_ADDRESSES: string
  readonly MAIL_SPF?: string | undefined
}): string {
  const { ipv4, ipv6 } = edgeAddresses(given)
  const own = [...ipv4.map((one) => `ip4:${one}`), ...ipv6.map((one) => `ip6:${one}`)]
  const others = given.MAIL_SPF === undefined ? [] : [given.MAIL_SPF]
  return ["v=spf1", ...own, ...others, "-all"].join(" ")
}

/** What the world sees of a sending domain's records. */
export interface SendingRecordsStatus {
  readonly faults: readonly SendingFault[]
  readonly hasDmarc: boolean
}

/**
 * Asks for the records of a sending domain.
 *
 * @param apex the connected domain that it is under, whose policy holds for it, too (RFC 7489 §6.6.3)
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
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
  const own = dmarc.filter(isDmarcPolicy)
  // The domain's policy holds only where the name itself has none.
  const inForce = own.length > 0 ? own : dmarcAbove.filter(isDmarcPolicy)
  const wrong: Readonly<Record<SendingFault, boolean>> = {
    dkim: keys.length < 2 && publicKeyIn(keys[0] ?? "") !== publicKey,
    several_dkim: keys.length > 1,
    return_mx: !exchanges.some(({ content }) => content === bounceHost),
    null_mx: exchanges.some(({ content }) => content === NULL_TARGET),
    return_spf: spf.length === 0,
    several_spf: spf.length > 1,
    several_dmarc: inForce.length > 1,
  }
  const faults = (Object.keys(wrong) as SendingFault[]).filter((fault) => wrong[fault])
  return { faults, hasDmarc: inForce.length > 0 }
}

const isDmarcPolicy = (text: string): boolean => /^v\s*=\s*DMARC1\s*(?:;|$)/.test(text)

/** The key that a record says (RFC 6376 §3.6.1), without the white space that may stand in it. */
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
