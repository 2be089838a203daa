/**
 * `POST /api/v1/connect/start`: a new app gets a code, which an owner approves. Sent with the code, it returns the
 * status and, once approved, the app's key.
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

/** A body with a code asks for its status; a body without one starts a request. */
const Start = z
  .object({
    code: boundedText(64).optional().describe("Code of a request, to read its status"),
    company: boundedText(100)
      .nullish()
      .meta({ description: "The company's name or id, if the app knows it" }),
    installId: installIdField.nullish().describe("Id of the installed app, if it has one"),
    version: versionField.optional().meta({ description: "Required without a code" }),
  })
  .refine(({ code, version }) => code !== undefined || version !== undefined, {
    path: ["version"],
    error: "Must be the app's version, unless the request has a code.",
  })

const Waiting = z
  .object({
    code: z.string().describe("Send it again to read the status"),
    url: z.string().meta({ description: "Page where an owner approves the request" }),
    expiresAt: isoTimeSchema.describe("When the code expires"),
  })
  .meta({ id: "ConnectionWaiting", description: "No owner has approved the request yet" })
const Connected = z
  .object({
    companyId: describedId("the company"),
    company: z.string().nullable().meta({ description: "The company's name" }),
    personId: describedId("the person that the app works for"),
    keyId: describedId("the app's key"),
    key: z.string().meta({ description: "The app's API key. Store it; the code expires soon" }),
    installId: describedIdOrNull("the installed app; null if the request had none"),
  })
  .meta({ id: "ConnectionApproved", description: "An owner approved the request" })
const Started = z.union([Waiting, Connected])

const CODE_EXPIRED = "The code is unknown or has expired. Start again without a code."

export const startConnection = publicRoute({
  name: "startConnection",
  method: "POST",
  url: "/api/v1/connect/start",
  group: "connection",
  summary: "Request a connection to a company, and the key once an owner has approved it",
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
    profile: companyProfileOf(state),
  })
  const found = await ports.runner.readLatest(stream, view)
  // The approval is stored shortly before the key.
  if (found.key === null || found.profile === null) return pending
  if (found.key.status !== "active" || found.key.keyHash !== keyHash) return codeExpired()
  const company = await ports.sealing.unseal(companyId, found.profile.name)
  return { ok: true, body: { companyId, company, personId, keyId, key, installId: install } }
}

function codeExpired(): Reply<never> {
  return { ok: false, refusal: refusal("not_found", CODE_EXPIRED) }
}

// Connection codes and the keys they yield (docs/decisions/connection.md).
//
// Any app that has an approved code gets the key, so a code is too long to guess and expires soon. The key derives
// from the code and the installation's master key: it is not stored, and a lost answer can be requested again.

const CODE_TTL_MS = 10 * 60_000

/** What an app's key may do. */
export const CONNECTED_APP_OPERATIONS: readonly Operation[] = [
  "connection.account.read",
  "connection.checkin",
  "connection.devices.report",
  "connection.updates.read",
]

/** Letters and digits that cannot be confused. */
const CODE_LETTERS = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
const CODE_LENGTH = 16
const CODE_FORMAT = new RegExp(`^[${CODE_LETTERS}]{4}(-[${CODE_LETTERS}]{4}){3}$`)

/** Creates a code: `XXXX-XXXX-XXXX-XXXX`. */
function newConnectCode(): string {
  let letters = ""
  while (letters.length < CODE_LENGTH) {
    // 240 is the largest multiple of 30 in a byte; higher values would favor the first letters.
    for (const byte of randomBytes(CODE_LENGTH)) if (byte < 240) letters += CODE_LETTERS[byte % 30]
  }
  return groupLetters(letters.slice(0, CODE_LENGTH))
}

/** Normalizes a code that a person typed. */
export function normalizeConnectCode(text: string): string {
  return groupLetters(text.toUpperCase().replaceAll(/[\s-]/g, ""))
}

/** Whether a text has the format of a code. */
function isConnectCode(text: string): boolean {
  return CODE_FORMAT.test(text)
}

function groupLetters(letters: string): string {
  return letters.match(/.{1,4}/gs)?.join("-") ?? ""
}

type SealingPorts = Pick<Ports, "sealing">

/** An owner's approval of an app for a company. */
interface Approval {
  readonly companyId: CompanyId
  readonly personId: PersonId
}

/** A connection request. `companyTag` is a keyed hash of the company's name or id; null if the app named none. */
interface ConnectRequest {
  readonly companyTag: string | null
  readonly installId: string | null
  readonly version: string
  readonly approval: Approval | null
}

/** The requests of valid codes. They belong to no company until an owner approves them. */
export function openConnectRequests(ports: Pick<Ports, "ttlStore" | "sealing">) {
  const requests = ports.ttlStore.of<ConnectRequest>({ slice: "connection", kind: "connect code" })
  const nameOf = (code: string) => ports.sealing.installationTag(`connect code ${code}`)
  return {
    /** Stores the request of a new code. @param expiresAt UTC milliseconds */
    begin: async (code: string, request: Omit<ConnectRequest, "approval">, expiresAt: number) => {
      const content = { ...request, approval: null }
      await requests.update(NO_COMPANY, nameOf(code), () => ({ content, expiresAt }))
    },
    /** Finds the request of a code; null if there is none. */
    find: (code: string) => requests.find(NO_COMPANY, nameOf(code)),
    /** Approves a request that was found; returns the first approval. */
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

/** Returns the keyed hash of a company's name or id, as an app sent it. */
export function companyTagOf({ sealing }: SealingPorts, nameOrId: string): string {
  return sealing.installationTag(nameOrId.trim().toLowerCase())
}

/** Derives the key of a code for a company. */
export function deriveConnectionKey(
  { sealing }: SealingPorts,
  code: string,
  companyId: CompanyId,
): NewApiKey {
  return deriveApiKey(companyId, sealing.appSecret(`connect code ${code}`))
}

/** The page of a code. It reads nothing, so it does not reveal whether the code exists. */
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
    const text =
      "<p>An app shows a code of 16 letters and digits, such as ABCD-EFGH-JKMN-PQRS. An owner approves it in the " +
      "settings of the console.</p>"
    const page = htmlPage(
      "This is not the code of an app",
      `${text}\n<p><a href="/console">Console</a></p>`,
    )
    return { ok: true, status: 200, body: {}, page }
  },
})
