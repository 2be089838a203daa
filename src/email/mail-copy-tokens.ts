import { timingSafeEqual } from "node:crypto"
import type { Sealing } from "../../adapters/sealing/port.ts"
import type { MailId } from "../../domain/email/ids.ts"
import { parseMailId } from "../../domain/email/ids.ts"

/** Locates a copy of a mail; its tokens for the return path and the unsubscribe link cannot be forged. */
export interface MailCopyReference {
  readonly mailId: MailId
  readonly recipientIndex: number
}

const MAC_LENGTH = 10
const COPY_TOKEN = /^(?<tag>[0-9A-Za-z]{1,40})\.(?<n>\d{1,2})\.(?<mark>[0-9a-f]{10})$/
const RETURN_PATH = /^b\.(?<name>[^@]+)@cp-bounce\.[^@]+$/

/** A token for one purpose is invalid for the other. */
type TokenPurpose = "return path" | "unsubscribe"

const macOf = (sealing: Sealing, purpose: TokenPurpose, tag: string, n: number): string =>
  sealing.installationTag(JSON.stringify(["mail", purpose, tag, n])).slice(0, MAC_LENGTH)

/** The part of a mail's id after its prefix. */
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
  token: string,
): MailCopyReference | null {
  const { tag, n, mark } = COPY_TOKEN.exec(token)?.groups ?? {}
  if (tag === undefined || n === undefined || mark === undefined) return null
  const expected = macOf(sealing, purpose, tag, Number(n))
  const isValid = timingSafeEqual(Buffer.from(mark), Buffer.from(expected))
  const mailId = parseMailId(`mail_${tag}`)
  return isValid && mailId !== null ? { mailId, recipientIndex: Number(n) } : null
}

/** The return path of a copy from a sending domain. */
export const returnPathOf = (sealing: Sealing, copy: MailCopyReference, domain: string): string =>
  `b.${copyTokenOf(sealing, "return path", copy)}@cp-bounce.${domain}`

/** The copy of a return path; null for other addresses. */
export function copyFromReturnPath(sealing: Sealing, address: string): MailCopyReference | null {
  const token = RETURN_PATH.exec(address)?.groups?.["name"]
  return token === undefined ? null : parseCopyToken(sealing, "return path", token)
}

/** The unsubscribe token of a copy. */
export const unsubscribeTokenOf = (sealing: Sealing, copy: MailCopyReference): string =>
  copyTokenOf(sealing, "unsubscribe", copy)

/** The copy of an unsubscribe token; null if the token is invalid. */
export const copyFromUnsubscribeToken = (
  sealing: Sealing,
  token: string,
): MailCopyReference | null => parseCopyToken(sealing, "unsubscribe", token)
