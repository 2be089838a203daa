/**
 * `POST /api/v1/connect/start`: an app that is not connected yet asks for a code, which an owner
 * approves; sent again with the code it answers how that stands, and in the end the app's key.
 */
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import type { AccessState } from "../../domain/access/access.ts"
import { companyProfileOf, findKey } from "../../domain/access/access.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Reply } from "../frame/routes/declare/route.ts"
import { publicRoute } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import {
  describedId,
  describedIdOrNull,
  isoTimeSchema,
  boundedText,
} from "../frame/kernel/schema.ts"
import { installIdField, versionField } from "./list-updates.ts"
import { randomBytes } from "node:crypto"
import type { Operation } from "../../domain/access/permissions.ts"
import type { TtlRecord } from "../../adapters/postgres/ttl-store/port.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import type { NewApiKey } from "../frame/routes/checks/credentials.ts"
import { deriveApiKey } from "../frame/routes/checks/credentials.ts"
import { NO_COMPANY } from "../frame/sign-in/codes.ts"
import { htmlPage } from "../frame/routes/answers/answer-bodies.ts"

/** A body with a code asks how that one stands; one without begins. */
const Start = z
  .object({
    code: boundedText(64).optional().describe("Asks how the request stands that this code is of"),
    company: boundedText(100)
      .nullish()
      .meta({ description: "Its name or id, where the app knows it" }),
    installId: installIdField.nullish().describe("Id of the installed app, where it has one"),
    version: versionField.optional().meta({ description: "Required where there is no code" }),
  })
  .refine(({ code, version }) => code !== undefined || version !== undefined, {
    path: ["version"],
    error: "Must be the app's version, unless a code asks how it stands.",
  })

const Waiting = z
  .object({
    code: z.string().describe("Names the request: send it to ask how that stands"),
    url: z.string().meta({ description: "Where an owner approves it" }),
    expiresAt: isoTimeSchema.describe("When the code's time is over"),
  })
  .meta({ id: "ConnectionWaiting", description: "No owner has approved it yet" })
const Connected = z
  .object({
    companyId: describedId("the company"),
    company: z.string().nullable().meta({ description: "The company's name" }),
    personId: describedId("the person that the app works for"),
    keyId: describedId("the app's key"),
    key: z.string().meta({ description: "The app's API key: keep it, the code is soon over" }),
    installId: describedIdOrNull("the installed app; null where none was said"),
  })
  .meta({ id: "ConnectionApproved", description: "An owner approved it: the app has its key" })
const Started = z.union([Waiting, Connected])

const CODE_EXPIRED = "There is no such code, or its time is over: begin again without one."

/** The route. */
export const startConnection = publicRoute({
  name: "startConnection",
  method: "POST",
  url: "/api/v1/connect/start",
  group: "connection",
  summary: "Ask to be connected to a company, and for the key once an owner approved",
  example: { body: { version: "2.0.0" } },
  rateLimit: RATE_LIMITS.connect,
  body: Start,
  reply: Started,
  statuses: [200, 202],
  refusalCodes: ["not_found"],
  refusalMessages: { not_found: CODE_EXPIRED },
  specGap: "The specification shows neither body nor answers.",
  handle: async (ports, { body: { code, ...app } }) =>
    code === undefined ? beginRequest(ports, app) : checkRequest(ports, code),
})

async function beginRequest(
  ports: Pick<Ports, "baseUrl" | "clock" | "ttlStore" | "sealing">,
  { company, installId: install = null, version = "" }: Omit<z.infer<typeof Start>, "code">,
): Promise<Reply<z.infer<typeof Started>, 200 | 202>> {
  const code = newConnectCode()
  const expiresAt = ports.clock.now() + CODE_TTL_MS
  const companyTag = company === undefined || company === null ? null : companyTagOf(ports, company)
  const request = { companyTag, installId: install, version }
  await openConnectRequests(ports).begin(code, request, expiresAt)
  return { ok: true, status: 202, body: toWaitingBody(ports, code, expiresAt) }
}

function toWaitingBody(
  ports: Pick<Ports, "baseUrl">,
  code: string,
  expiresAt: number,
): z.infer<typeof Waiting> {
  const url = `${ports.baseUrl()}/connect/${code}`
  return { code, url, expiresAt: new Date(expiresAt).toISOString() }
}

async function checkRequest(
  ports: Pick<Ports, "baseUrl" | "ttlStore" | "runner" | "sealing">,
  text: string,
): Promise<Reply<z.infer<typeof Started>, 200 | 202>> {
  const code = normalizeConnectCode(text)
  const request = await openConnectRequests(ports).find(code)
  if (request === null) return codeExpired()
  const { approval, installId: install } = request.content
  const pending = {
    ok: true,
    status: 202,
    body: toWaitingBody(ports, code, request.expiresAt),
  } as const
  if (approval === null) return pending
  const { companyId, personId } = approval
  const { key, keyId, keyHash } = deriveConnectionKey(ports, code, companyId)
  const stream = accessStreamOf(companyId)
  const view = (state: AccessState) => ({
    key: findKey(state, keyId),
    standing: companyProfileOf(state),
  })
  const found = await ports.runner.readLatest(stream, view)
  // The approval is a moment ahead of the key that follows from it.
  if (found.key === null || found.standing === null) return pending
  if (found.key.status !== "active" || found.key.keyHash !== keyHash) return codeExpired()
  const company = await ports.sealing.unseal(companyId, found.standing.name)
  return { ok: true, body: { companyId, company, personId, keyId, key, installId: install } }
}

function codeExpired(): Reply<never> {
  return { ok: false, refusal: refusal("not_found", CODE_EXPIRED) }
}

// Codes with which an app asks to be connected, and the key that comes of one (decisions.md §10).
//
// Whoever holds the code gets the key once an owner approved it, so it is long enough not to be
// guessed, and short-lived. The key derives from the code and the installation's master key: it is
// kept nowhere, and an answer that was lost can be asked for again.

/** How long a code can be approved and asked for. */
const CODE_TTL_MS = 10 * 60_000

/** What an app's key may do. */
export const CONNECTED_APP_OPERATIONS: readonly Operation[] = [
  "connection.account.read",
  "connection.checkin",
  "connection.devices.report",
  "connection.updates.read",
]

/** Letters that nobody takes for another. */
const CODE_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
const CODE_LENGTH = 16
const CODE_FORMAT = new RegExp(`^[${CODE_LETTERS}]{4}(-[${CODE_LETTERS}]{4}){3}$`)

/** A new code, `XXXX-XXXX-XXXX-XXXX`. */
function newConnectCode(): string {
  let letters = ""
  while (letters.length < CODE_LENGTH) {
    // 240 is the largest multiple of 30 in a byte: the rest would favour the first letters.
    for (const byte of randomBytes(CODE_LENGTH)) if (byte < 240) letters += CODE_LETTERS[byte % 30]
  }
  return groupLetters(letters.slice(0, CODE_LENGTH))
}

/** A code as it was made, however somebody wrote it. */
export function normalizeConnectCode(text: string): string {
  return groupLetters(text.toUpperCase().replaceAll(/[\s-]/g, ""))
}

/** Whether a text is of the form that codes are made in. */
function isConnectCode(text: string): boolean {
  return CODE_FORMAT.test(text)
}

function groupLetters(letters: string): string {
  return letters.match(/.{1,4}/gs)?.join("-") ?? ""
}

type SealingPorts = Pick<Ports, "sealing">

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
export function openConnectRequests(ports: Pick<Ports, "ttlStore" | "sealing">) {
  const requests = ports.ttlStore.of<ConnectRequest>({ slice: "connection", kind: "connect code" })
  const nameOf = (code: string) => ports.sealing.installationTag(`connect code ${code}`)
  return {
    /** Keeps the request of a new code. @param until UTC milliseconds */
    begin: async (code: string, request: Omit<ConnectRequest, "approval">, expiresAt: number) => {
      const content = { ...request, approval: null }
      await requests.update(NO_COMPANY, nameOf(code), () => ({ content, expiresAt }))
    },
    /** The request of a code; null for none. */
    find: (code: string) => requests.find(NO_COMPANY, nameOf(code)),
    /** Approves a request that was found; answers who approved it first. */
    approve: async (code: string, found: TtlRecord<ConnectRequest>, approval: Approval) => {
      const { content } = await requests.update(NO_COMPANY, nameOf(code), (known) => {
        if (known === null) return { ...found, expiresAt: 0 }
        if (known.content.approval !== null) return known
        return { ...known, content: { ...known.content, approval } }
      })
      return content.approval
    },
  }
}

/** What is kept of the company that an app asks for, by its name or id. */
export function companyTagOf({ sealing }: SealingPorts, nameOrId: string): string {
  return sealing.installationTag(nameOrId.trim().toLowerCase())
}

/** The key that comes of a code, for one company. */
export function deriveConnectionKey(
  { sealing }: SealingPorts,
  code: string,
  companyId: CompanyId,
): NewApiKey {
  return deriveApiKey(companyId, sealing.appSecret(`connect code ${code}`))
}

/** The route: nothing is looked up, so it tells nobody whether there is such a code. */
export const connectPage = publicRoute({
  name: "connectPage",
  method: "GET",
  url: "/connect/:code",
  group: "connection",
  summary: "Approve an app in the console",
  params: z.object({ code: z.string() }),
  statuses: [303, 200],
  reply: z.object({}),
  handle: async (_ports, { params }) => {
    const code = normalizeConnectCode(params.code)
    if (isConnectCode(code)) {
      return { ok: true, status: 303, body: {}, location: `/console?connect=${code}` }
    }
    const says =
      "<p>An app that asks to be connected shows a code of 16 letters and digits, such as " +
      "ABCD-EFGH-JKMN-PQRS. An owner approves it in the settings of the console.</p>"
    const page = htmlPage(
      "This is no code of an app",
      `${says}\n<p><a href="/console">Console</a></p>`,
    )
    return { ok: true, status: 200, body: {}, page }
  },
})
