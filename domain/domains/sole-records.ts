/**
 * Records of which only one may stand at a name. Receivers that find two ignore both, so the second one
 * switches off what the first one set up.
 */
import type { RecordBody } from "./records.ts"
import { NO_TARGET } from "./records.ts"

interface SoleText {
  /** What people call it. */
  readonly what: string
  /** The names that it stands at; whatever else stands there is not it. */
  readonly isAt: (name: string) => boolean
  readonly content: RegExp
}

const leads = (label: string) => (name: string) => name.startsWith(`${label}.`)

/** TXT records by the standard that says so. White space may stand around `=` (RFC 6376 §3.2), and quotes around all. */
const SOLE_TEXTS: readonly SoleText[] = [
  // RFC 7208 §4.5
  { what: "SPF record", isAt: () => true, content: /^"?\s*v\s*=\s*spf1(?:[ "]|$)/i },
  // RFC 7489 §6.6.3
  { what: "DMARC policy", isAt: leads("_dmarc"), content: /^"?\s*v\s*=\s*DMARC1\s*(?:[;"]|$)/i },
  // RFC 6376 §3.6.2.2: what several keys under one selector mean is undefined.
  {
    what: "DKIM key",
    isAt: (name) => name.includes("._domainkey."),
    content: /(?:^"?|;)\s*p\s*=/i,
  },
  // RFC 8461 §3.1
  { what: "MTA-STS record", isAt: leads("_mta-sts"), content: /^"?\s*v\s*=\s*STSv1\s*(?:[;"]|$)/i },
  // BIMI §4.3
  {
    what: "BIMI record",
    isAt: (name) => name.includes("._bimi."),
    content: /^"?\s*v\s*=\s*BIMI1\s*(?:[;"]|$)/i,
  },
  // RFC 8460 §3
  {
    what: "TLS report address",
    isAt: leads("_smtp._tls"),
    content: /^"?\s*v\s*=\s*TLSRPTv1\s*(?:[;"]|$)/i,
  },
]

/** What of the sole kinds a TXT record is; null for any other record. */
function soleTextOf({ type, name, content }: Pick<RecordBody, "type" | "name" | "content">) {
  if (type !== "TXT") return null
  return SOLE_TEXTS.find((one) => one.isAt(name) && one.content.test(content))?.what ?? null
}

/**
 * Why a record would void another one of its name, or be voided, as a sentence that says what to do; null
 * where it would not.
 */
export function voidedBy<R extends RecordBody & { readonly id: string }>(
  records: readonly R[],
  added: RecordBody,
): string | null {
  const others = records.filter(({ type, name }) => type === added.type && name === added.name)
  const sole = soleTextOf(added)
  const same = sole === null ? undefined : others.find((one) => soleTextOf(one) === sole)
  if (same !== undefined) {
    return `${added.name} has a ${sole} already, and two void both. Update or remove record ${same.id} instead.`
  }
  if (added.type !== "MX") return null
  const [first] = others
  if (added.content === NO_TARGET && first !== undefined) {
    return `An MX of "." says that ${added.name} takes no mail, so it stands alone (RFC 7505). Remove record ${first.id} first.`
  }
  const none = others.find(({ content }) => content === NO_TARGET)
  if (none === undefined) return null
  return `${added.name} has an MX of ".", which says that it takes no mail (RFC 7505). Update or remove record ${none.id} first.`
}
