/**
 * Codes with which an app asks to be connected, and the key that comes of one (decisions.md §10).
 *
 * Whoever holds the code gets the key once an owner approved it, so it is long enough not to be
 * guessed, and short-lived. The key derives from the code and the installation's master key: it is
 * kept nowhere, and an answer that was lost can be asked for again.
 */
import { randomBytes } from "node:crypto"
import type { Operation } from "../../domain/access/permissions.ts"
import type { KeptThing } from "../../adapters/postgres/ttl-store/port.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import type { NewApiKey } from "../frame/routes/checks/credentials.ts"
import { deriveApiKey } from "../frame/routes/checks/credentials.ts"
import type { Ports } from "../frame/ports.ts"
import { NOBODYS } from "../frame/sign-in/tokens.ts"

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

/** An owner who approved an app, and for which company. */
interface Approval {
  readonly companyId: CompanyId
  readonly personId: PersonId
}

/** An app that asks to be connected. Of its company's name or id only a keyed hash is kept; null where it has none. */
interface ConnectRequest {
  readonly companyTag: string | null
  readonly installId: string | null
  readonly version: string
  readonly approval: Approval | null
}

/** The requests of codes whose time is not over, of no company until an owner approves. */
export function connectRequests(ports: Pick<Ports, "kept" | "sealing">) {
  const requests = ports.kept.of<ConnectRequest>({ slice: "connection", kind: "connect code" })
  const nameOf = (code: string) => ports.sealing.installationTag(`connect code ${code}`)
  return {
    /** Keeps the request of a new code. @param until UTC milliseconds */
    begin: async (code: string, request: Omit<ConnectRequest, "approval">, until: number) => {
      const content = { ...request, approval: null }
      await requests.change(NOBODYS, nameOf(code), () => ({ content, until }))
    },
    /** The request of a code; null for none. */
    find: (code: string) => requests.find(NOBODYS, nameOf(code)),
    /** Approves a request that was found; answers who approved it first. */
    approve: async (code: string, found: KeptThing<ConnectRequest>, approval: Approval) => {
      const { content } = await requests.change(NOBODYS, nameOf(code), (known) => {
        if (known === null) return { ...found, until: 0 }
        if (known.content.approval !== null) return known
        return { ...known, content: { ...known.content, approval } }
      })
      return content.approval
    },
  }
}

/** What is kept of the company that an app asks for, by its name or id. */
export function companyTagOf({ sealing }: Tagging, nameOrId: string): string {
  return sealing.installationTag(nameOrId.trim().toLowerCase())
}

/** The key that comes of a code, for one company. */
export function connectedKey({ sealing }: Tagging, code: string, companyId: CompanyId): NewApiKey {
  return deriveApiKey(companyId, sealing.appSecret(`connect code ${code}`))
}
