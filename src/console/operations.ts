/** What of the operator's commands somebody does themselves: the list, and doing one. */
import { z } from "zod"
import type { Reply, RawRequest } from "../frame/routes/declare/route.ts"
import { publicRoute, CHUNKED_BODY } from "../frame/routes/declare/route.ts"
import { replyWithFile, UPLOAD_TIMEOUT_MS } from "../frame/operator/operation-files.ts"
import type { ConsoleRequest } from "../frame/console-ports.ts"
import { MAX_REASON_LENGTH } from "../frame/operator/protocol.ts"
import type { Ports } from "../frame/ports.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"
import { OTHER_SITE, SIGNED_OUT, authenticateSession, COMPANY_PATH } from "./sign-in.ts"

const CompanyParams = z.object({ company: z.string() })
const OperationParams = CompanyParams.extend({ operation: z.string() })
const base = { group: "console", method: "POST" } as const

/** The operations there are, and which of them this person may do. */
export const listOperations = publicRoute({
  ...base,
  name: "listOperations",
  method: "GET",
  url: `${COMPANY_PATH}/operations`,
  summary: "List the operations",
  params: CompanyParams,
  reply: z.object({ operations: z.array(z.unknown()) }),
  refusalCodes: [SIGNED_OUT],
  handle: async (ports, { params, rawRequest }) => {
    const who = await authenticateSession(ports, { ...rawRequest, method: "GET", params })
    if ("error" in who) return { ok: false, refusal: who }
    return {
      ok: true,
      body: { operations: [...(await ports.consoleOperations.listOperations(who))] },
    }
  },
})

/** Does one. */
export const doOperation = publicRoute({
  ...base,
  name: "doOperation",
  url: `${COMPANY_PATH}/operations/:operation`,
  summary: "Do an operation",
  params: OperationParams,
  body: z.object({
    input: z.record(z.string(), z.unknown()).default({}),
    reason: z.string().max(MAX_REASON_LENGTH).nullable().default(null),
    confirm: z.string().nullable().default(null),
  }),
  reply: z.unknown(),
  refusalCodes: [SIGNED_OUT, OTHER_SITE, "not_allowed", "not_found", "conflict", "gone"],
  handle: async (ports, { params, rawRequest, body, callerGone }) => {
    const who = await authenticateSession(ports, { ...rawRequest, method: "POST", params })
    if ("error" in who) return { ok: false, refusal: who }
    const { input, reason, confirm: confirmation } = body
    const request = {
      ...toConsoleRequest(who, rawRequest, params),
      input,
      reason,
      confirmation,
      file: null,
    }
    return runRequest(ports, request, callerGone)
  },
})

/** Does one that reads a file, which is the body; its other fields stand in the query. */
export const doOperationWithFile = publicRoute({
  ...base,
  name: "sendFileTo",
  url: `${COMPANY_PATH}/files/:operation`,
  summary: "Do an operation with a file",
  params: OperationParams,
  query: ANY_QUERY,
  body: CHUNKED_BODY,
  bodyTimeoutMs: UPLOAD_TIMEOUT_MS,
  reply: z.unknown(),
  refusalCodes: [
    SIGNED_OUT,
    OTHER_SITE,
    "not_allowed",
    "not_found",
    "conflict",
    "gone",
    "too_large",
  ],
  handle: async (ports, { params, rawRequest, body, query, callerGone }) => {
    const who = await authenticateSession(ports, { ...rawRequest, method: "POST", params })
    if ("error" in who) return { ok: false, refusal: who }
    const input = query as Readonly<Record<string, unknown>>
    const request = {
      ...toConsoleRequest(who, rawRequest, params),
      input,
      reason: null,
      confirmation: null,
    }
    return runRequest(ports, { ...request, file: body }, callerGone)
  },
})

function toConsoleRequest(
  who: Pick<ConsoleRequest, "companyId" | "personId">,
  { requestId, address }: RawRequest,
  { operation }: z.infer<typeof OperationParams>,
): Pick<ConsoleRequest, "companyId" | "personId" | "requestId" | "address" | "operation"> {
  const { companyId, personId } = who
  return { companyId, personId, requestId, address, operation }
}

/** Does it; the file that it may send is named by its operation and format. */
function runRequest(
  ports: Pick<Ports, "consoleOperations">,
  request: ConsoleRequest,
  gone: AbortSignal,
): Promise<Reply<unknown>> {
  const { operation, input } = request
  const { format } = input
  const isNamed = typeof format === "string" && /^[\w-]{1,20}$/.test(format)
  return replyWithFile(
    (send) => ports.consoleOperations.runOperation(request, { send, signal: gone }),
    isNamed ? `${operation}.${format}` : operation,
  )
}

/** Notes that somebody is there. */
export const heartbeat = publicRoute({
  name: "beat",
  group: "console",
  method: "POST",
  url: `${COMPANY_PATH}/presence`,
  summary: "Say that somebody looks at the console",
  params: z.object({ company: z.string() }),
  reply: z.object({ seenAt: z.string() }),
  refusalCodes: [SIGNED_OUT, OTHER_SITE],
  handle: async (ports, { params, rawRequest }) => {
    const who = await authenticateSession(ports, { ...rawRequest, method: "POST", params })
    if ("error" in who) return { ok: false, refusal: who }
    const seenAt = ports.clock.now()
    const sighting = { personId: who.personId, client: "dashboard" as const, seenAt }
    await ports.onlineStatus.noteSeen(who.companyId, sighting)
    return { ok: true, body: { seenAt: new Date(seenAt).toISOString() } }
  },
})
