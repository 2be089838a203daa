/**
 * `POST /api/v1/connect/start`: an app that is not connected yet asks for a code, which an owner
 * approves; sent again with the code it answers how that stands, and in the end the app's key.
 */
import { accessOf } from "../../domain/access/aggregates.ts"
import { z } from "zod"
import { companyStanding, findKey } from "../../domain/access/access.ts"
import type { Access } from "../../domain/access/access.ts"
import {
  CODE_LASTS_MS,
  companyTagOf,
  connectCodeOf,
  connectRequests,
  connectedKey,
  newConnectCode,
} from "./connect-code.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Reply } from "../frame/routes/declare/route.ts"
import { openRoute } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { idOf, idOrNull, isoTime, shortText } from "../frame/kernel/schema.ts"
import { installId, versionName } from "./schema.ts"

/** A body with a code asks how that one stands; one without begins. */
const Start = z
  .object({
    code: shortText(64).optional().describe("Asks how the request stands that this code is of"),
    company: shortText(100)
      .nullish()
      .meta({ description: "Its name or id, where the app knows it" }),
    installId: installId.nullish().describe("Id of the installed app, where it has one"),
    version: versionName.optional().meta({ description: "Required where there is no code" }),
  })
  .refine(({ code, version }) => code !== undefined || version !== undefined, {
    path: ["version"],
    error: "Must be the app's version, unless a code asks how it stands.",
  })

const Waiting = z
  .object({
    code: z.string().describe("Names the request: send it to ask how that stands"),
    url: z.string().meta({ description: "Where an owner approves it" }),
    expiresAt: isoTime.describe("When the code's time is over"),
  })
  .meta({ id: "ConnectionWaiting", description: "No owner has approved it yet" })
const Connected = z
  .object({
    companyId: idOf("the company"),
    company: z.string().nullable().meta({ description: "The company's name" }),
    personId: idOf("the person that the app works for"),
    keyId: idOf("the app's key"),
    key: z.string().meta({ description: "The app's API key: keep it, the code is soon over" }),
    installId: idOrNull("the installed app; null where none was said"),
  })
  .meta({ id: "ConnectionApproved", description: "An owner approved it: the app has its key" })
const Started = z.union([Waiting, Connected])

const OVER = "There is no such code, or its time is over: begin again without one."

/** The route. */
export const startConnection = openRoute({
  name: "startConnection",
  method: "POST",
  url: "/api/v1/connect/start",
  group: "connection",
  summary: "Ask to be connected to a company, and for the key once an owner approved",
  example: { body: { version: "2.0.0" } },
  limit: RATE_LIMITS.connect,
  body: Start,
  reply: Started,
  success: [200, 202],
  refuses: ["not_found"],
  says: { not_found: OVER },
  specGap: "The specification shows neither body nor answers.",
  handle: async (ports, { body: { code, ...app } }) =>
    code === undefined ? begin(ports, app) : ask(ports, code),
})

async function begin(
  ports: Pick<Ports, "baseUrl" | "clock" | "kept" | "sealing">,
  { company, installId: install = null, version = "" }: Omit<z.infer<typeof Start>, "code">,
): Promise<Reply<z.infer<typeof Started>, 200 | 202>> {
  const code = newConnectCode()
  const expiresAt = ports.clock.now() + CODE_LASTS_MS
  const companyTag = company === undefined || company === null ? null : companyTagOf(ports, company)
  const request = { companyTag, installId: install, version }
  await connectRequests(ports).begin(code, request, expiresAt)
  return { ok: true, status: 202, body: waiting(ports, code, expiresAt) }
}

function waiting(
  ports: Pick<Ports, "baseUrl">,
  code: string,
  expiresAt: number,
): z.infer<typeof Waiting> {
  const url = `${ports.baseUrl()}/connect/${code}`
  return { code, url, expiresAt: new Date(expiresAt).toISOString() }
}

async function ask(
  ports: Pick<Ports, "baseUrl" | "kept" | "runner" | "sealing">,
  text: string,
): Promise<Reply<z.infer<typeof Started>, 200 | 202>> {
  const code = connectCodeOf(text)
  const request = await connectRequests(ports).find(code)
  if (request === null) return over()
  const { approval, installId: install } = request.content
  const pending = { ok: true, status: 202, body: waiting(ports, code, request.until) } as const
  if (approval === null) return pending
  const { companyId, personId } = approval
  const { key, keyId, keyHash } = connectedKey(ports, code, companyId)
  const stream = accessOf(companyId)
  const view = (state: Access) => ({ key: findKey(state, keyId), standing: companyStanding(state) })
  const found = await ports.runner.readLatest(stream, view)
  // The approval is a moment ahead of the key that follows from it.
  if (found.key === null || found.standing === null) return pending
  if (found.key.status !== "active" || found.key.keyHash !== keyHash) return over()
  const company = await ports.sealing.open(companyId, found.standing.name)
  return { ok: true, body: { companyId, company, personId, keyId, key, installId: install } }
}

function over(): Reply<never> {
  return { ok: false, refusal: refusal("not_found", OVER) }
}
