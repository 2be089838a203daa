/**
 * Names of one copy of a mail that nobody else can make: where it comes back to, and where a click says not
 * to be written to again.
 */
import { timingSafeEqual } from "node:crypto"
import type { Sealing } from "../../adapters/sealing/port.ts"
import type { MailId } from "../../domain/email/ids.ts"
import { parseMailId } from "../../domain/email/ids.ts"

/** A copy of a mail. */
export interface CopyName {
  readonly mailId: MailId
  readonly n: number
}

const MARK_LETTERS = 10
const NAME = /^(?<tag>[0-9A-Za-z]{1,40})\.(?<n>\d{1,2})\.(?<mark>[0-9a-f]{10})$/
const RETURN_PATH = /^b\.(?<name>[^@]+)@cp-bounce\.[^@]+$/

/** What a name is for: one is of no use for the other. */
type Purpose = "return path" | "unsubscribe"

const markOf = (sealing: Sealing, purpose: Purpose, tag: string, n: number): string =>
  sealing.installationTag(JSON.stringify(["mail", purpose, tag, n])).slice(0, MARK_LETTERS)

/** The part of a mail's id behind its prefix. */
export const mailTagOf = (mailId: MailId): string => mailId.slice("mail_".length)

function nameOf(sealing: Sealing, purpose: Purpose, { mailId, n }: CopyName): string {
  const tag = mailTagOf(mailId)
  return `${tag}.${n}.${markOf(sealing, purpose, tag, n)}`
}

function copyNamed(sealing: Sealing, purpose: Purpose, name: string): CopyName | null {
  const { tag, n, mark } = NAME.exec(name)?.groups ?? {}
  if (tag === undefined || n === undefined || mark === undefined) return null
  const right = markOf(sealing, purpose, tag, Number(n))
  const isRight = timingSafeEqual(Buffer.from(mark), Buffer.from(right))
  const mailId = parseMailId(`mail_${tag}`)
  return isRight && mailId !== null ? { mailId, n: Number(n) } : null
}

/** Where a copy from a sending domain comes back to. */
export const returnPathOf = (sealing: Sealing, copy: CopyName, domain: string): string =>
  `b.${nameOf(sealing, "return path", copy)}@cp-bounce.${domain}`

/** The copy that comes back to an address; null for addresses that are none of ours. */
export function copyReturned(sealing: Sealing, address: string): CopyName | null {
  const name = RETURN_PATH.exec(address)?.groups?.["name"]
  return name === undefined ? null : copyNamed(sealing, "return path", name)
}

/** What the page is called at which a copy's recipient says not to be written to again. */
export const unsubscribeTokenOf = (sealing: Sealing, copy: CopyName): string =>
  nameOf(sealing, "unsubscribe", copy)

/** The copy that such a page is about; null where there is no such page. */
export const copyOfToken = (sealing: Sealing, token: string): CopyName | null =>
  copyNamed(sealing, "unsubscribe", token)
