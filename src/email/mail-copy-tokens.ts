/**
 * Names of one copy of a mail that nobody else can make: where it comes back to, and where a click says not
 * to be written to again.
 */
import { timingSafeEqual } from "node:crypto"
import type { Sealing } from "../../adapters/sealing/port.ts"
import type { MailId } from "../../domain/email/ids.ts"
import { parseMailId } from "../../domain/email/ids.ts"

/** A copy of a mail. */
export interface MailCopyReference {
  readonly mailId: MailId
  readonly recipientIndex: number
}

const MAC_LENGTH = 10
const COPY_TOKEN = /^(?<tag>[0-9A-Za-z]{1,40})\.(?<n>\d{1,2})\.(?<mark>[0-9a-f]{10})$/
const RETURN_PATH = /^b\.(?<name>[^@]+)@cp-bounce\.[^@]+$/

/** What a name is for: one is of no use for the other. */
type TokenPurpose = "return path" | "unsubscribe"

const macOf = (sealing: Sealing, purpose: TokenPurpose, tag: string, n: number): string =>
  sealing.installationTag(JSON.stringify(["mail", purpose, tag, n])).slice(0, MAC_LENGTH)

/** The part of a mail's id behind its prefix. */
export const mailIdSuffixOf = (mailId: MailId): string => mailId.slice("mail_".length)

function copyTokenOf(
  sealing: Sealing,
  purpose: TokenPurpose,
  { mailId, recipientIndex }: MailCopyReference,
): string {
  const tag = mailIdSuffixOf(mailId)
  return `${tag}.${recipientIndex}.${macOf(sealing, purpose, tag, recipientIndex)}`
}

function parseCopyToken(
  sealing: Sealing,
  purpose: TokenPurpose,
  name: string,
): MailCopyReference | null {
  const { tag, n, mark } = COPY_TOKEN.exec(name)?.groups ?? {}
  if (tag === undefined || n === undefined || mark === undefined) return null
  const right = macOf(sealing, purpose, tag, Number(n))
  const isRight = timingSafeEqual(Buffer.from(mark), Buffer.from(right))
  const mailId = parseMailId(`mail_${tag}`)
  return isRight && mailId !== null ? { mailId, recipientIndex: Number(n) } : null
}

/** Where a copy from a sending domain comes back to. */
export const returnPathOf = (sealing: Sealing, copy: MailCopyReference, domain: string): string =>
  `b.${copyTokenOf(sealing, "return path", copy)}@cp-bounce.${domain}`

/** The copy that comes back to an address; null for addresses that are none of ours. */
export function copyFromReturnPath(sealing: Sealing, address: string): MailCopyReference | null {
  const name = RETURN_PATH.exec(address)?.groups?.["name"]
  return name === undefined ? null : parseCopyToken(sealing, "return path", name)
}

/** What the page is called at which a copy's recipient says not to be written to again. */
export const unsubscribeTokenOf = (sealing: Sealing, copy: MailCopyReference): string =>
  copyTokenOf(sealing, "unsubscribe", copy)

/** The copy that such a page is about; null where there is no such page. */
export const copyFromUnsubscribeToken = (
  sealing: Sealing,
  token: string,
): MailCopyReference | null => parseCopyToken(sealing, "unsubscribe", token)
