/**
 * Codes with which an app asks to be connected, and the key that comes of one (decisions.md §10).
 *
 * Whoever holds the code gets the key once an owner approved it, so it is long enough not to be
 * guessed, and short-lived. The key derives from the code and the installation's master key: it is
 * kept nowhere, and an answer that was lost can be asked for again.
 */
import { randomBytes } from "node:crypto"
import type { Operation } from "../../domain/access/operations.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NewApiKey } from "../frame/calls/api-key.ts"
import { deriveApiKey } from "../frame/calls/api-key.ts"
import type { Ports } from "../frame/ports.ts"

/** How long a code can be approved and asked for. */
export const CODE_LASTS_MS = 10 * 60_000

/** What an app's key may do. */
export const APP_OPERATIONS: readonly Operation[] = [
  "connection.account.read",
  "connection.checkin",
  "connection.devices.report",
  "connection.updates.read",
]

/** Letters that nobody takes for another. */
const LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
const LENGTH = 16
const FORM = new RegExp(`^[${LETTERS}]{4}(-[${LETTERS}]{4}){3}$`)

/** A new code, `XXXX-XXXX-XXXX-XXXX`. */
export function newConnectCode(): string {
  let letters = ""
  while (letters.length < LENGTH) {
    // 240 is the largest multiple of 30 in a byte: the rest would favour the first letters.
    for (const byte of randomBytes(LENGTH)) if (byte < 240) letters += LETTERS[byte % 30]
  }
  return grouped(letters.slice(0, LENGTH))
}

/** A code as it was made, however somebody wrote it. */
export function connectCodeOf(text: string): string {
  return grouped(text.toUpperCase().replaceAll(/[\s-]/g, ""))
}

/** Whether a text is of the form that codes are made in. */
export function isConnectCode(text: string): boolean {
  return FORM.test(text)
}

function grouped(letters: string): string {
  return letters.match(/.{1,4}/gs)?.join("-") ?? ""
}

type Tagging = Pick<Ports, "sealing">

/** What is kept of a code. */
export function codeTagOf({ sealing }: Tagging, code: string): string {
  return sealing.installationTag(`connect code ${code}`)
}

/** What is kept of the company that an app asks for, by its name or id. */
export function companyTagOf({ sealing }: Tagging, nameOrId: string): string {
  return sealing.installationTag(nameOrId.trim().toLowerCase())
}

/** The key that comes of a code, for one company. */
export function connectedKey({ sealing }: Tagging, code: string, companyId: CompanyId): NewApiKey {
  return deriveApiKey(companyId, sealing.appSecret(`connect code ${code}`))
}
