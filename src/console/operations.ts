/** What of the operator's commands somebody does themselves: the list, and doing one. */
import { z } from "zod"
import type { Reply, AsSent } from "../frame/routes/declare/route.ts"
import { openRoute, PIECES } from "../frame/routes/declare/route.ts"
import { answered, UPLOAD_WITHIN_MS } from "../frame/operator/files.ts"
import type { ConsoleRequest } from "../frame/console-ports.ts"
import { MOST_REASON } from "../frame/operator/protocol.ts"
import type { Ports } from "../frame/ports.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"
import { OTHER_SITE, SIGNED_OUT, whoAsks, AT_COMPANY } from "./sign-in.ts"

const Company = z.object({ company: z.string() })
const Named = Company.extend({ operation: z.string() })
const base = { group: "console", method: "POST" } as const

/** The operations there are, and which of them this person may do. */
export const listOperations = openRoute({
  ...base,
  name: "listOperations",
  method: "GET",
  url: `${AT_COMPANY}/operations`,
  summary: "List the operations",
  params: Company,
  reply: z.object({ operations: z.array(z.unknown()) }),
  refuses: [SIGNED_OUT],
  handle: async (ports, { params, sent }) => {
    const who = await whoAsks(ports, { ...sent, method: "GET", params })
    if ("error" in who) return { ok: false, refusal: who }
    return { ok: true, body: { operations: [...(await ports.inConsole.offered(who))] } }
  },
})

/** Does one. */
export const doOperation = openRoute({
  ...base,
  name: "doOperation",
  url: `${AT_COMPANY}/operations/:operation`,
  summary: "Do an operation",
  params: Named,
  body: z.object({
    input: z.record(z.string(), z.unknown()).default({}),
    reason: z.string().max(MOST_REASON).nullable().default(null),
    confirm: z.string().nullable().default(null),
  }),
  reply: z.unknown(),
  refuses: [SIGNED_OUT, OTHER_SITE, "not_allowed", "not_found", "conflict", "gone"],
  handle: async (ports, { params, sent, body, gone }) => {
    const who = await whoAsks(ports, { ...sent, method: "POST", params })
    if ("error" in who) return { ok: false, refusal: who }
    const { input, reason, confirm: confirmed } = body
    const request = { ...asked(who, sent, params), input, reason, confirmed, file: null }
    return done(ports, request, gone)
  },
})

/** Does one that reads a file, which is the body; its other fields stand in the query. */
export const sendFileTo = openRoute({
  ...base,
  name: "sendFileTo",
  url: `${AT_COMPANY}/files/:operation`,
  summary: "Do an operation with a file",
  params: Named,
  query: ANY_QUERY,
  body: PIECES,
  bodyWithinMs: UPLOAD_WITHIN_MS,
  reply: z.unknown(),
  refuses: [SIGNED_OUT, OTHER_SITE, "not_allowed", "not_found", "conflict", "gone", "too_large"],
  handle: async (ports, { params, sent, body, query, gone }) => {
    const who = await whoAsks(ports, { ...sent, method: "POST", params })
    if ("error" in who) return { ok: false, refusal: who }
    const input = query as Readonly<Record<string, unknown>>
    const request = { ...asked(who, sent, params), input, reason: null, confirmed: null }
    return done(ports, { ...request, file: body }, gone)
  },
})

function asked(
  who: Pick<ConsoleRequest, "companyId" | "personId">,
  { requestId, address }: AsSent,
  { operation }: z.infer<typeof Named>,
): Pick<ConsoleRequest, "companyId" | "personId" | "requestId" | "address" | "operation"> {
  const { companyId, personId } = who
  return { companyId, personId, requestId, address, operation }
}

/** Does it; the file that it may send is named by its operation and format. */
function done(
  ports: Pick<Ports, "inConsole">,
  request: ConsoleRequest,
  gone: AbortSignal,
): Promise<Reply<unknown>> {
  const { operation, input } = request
  const { format } = input
  const isNamed = typeof format === "string" && /^[\w-]{1,20}$/.test(format)
  return answered(
    (send) => ports.inConsole.run(request, { send, signal: gone }),
    isNamed ? `${operation}.${format}` : operation,
  )
}

/** Notes that somebody is there. */
export const beat = openRoute({
  name: "beat",
  group: "console",
  method: "POST",
  url: `${AT_COMPANY}/presence`,
  summary: "Say that somebody looks at the console",
  params: z.object({ company: z.string() }),
  reply: z.object({ seenAt: z.string() }),
  refuses: [SIGNED_OUT, OTHER_SITE],
  handle: async (ports, { params, sent }) => {
    const who = await whoAsks(ports, { ...sent, method: "POST", params })
    if ("error" in who) return { ok: false, refusal: who }
    const seenAt = ports.clock.now()
    const sighting = { personId: who.personId, place: "dashboard" as const, seenAt }
    await ports.presence.seen(who.companyId, sighting)
    return { ok: true, body: { seenAt: new Date(seenAt).toISOString() } }
  },
})
