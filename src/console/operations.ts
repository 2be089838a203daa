/** Operations that people run themselves in the console: the list, and running one. */
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

/** Lists the operations, and which of them this person may run. */
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
    const identity = await authenticateSession(ports, { ...rawRequest, method: "GET", params })
    if ("error" in identity) return { ok: false, refusal: identity }
    return {
      ok: true,
      body: { operations: [...(await ports.consoleOperations.listOperations(identity))] },
    }
  },
})

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
    const identity = await authenticateSession(ports, { ...rawRequest, method: "POST", params })
    if ("error" in identity) return { ok: false, refusal: identity }
    const { input, reason, confirm: confirmation } = body
    const request = {
      ...toConsoleRequest(identity, rawRequest, params),
      input,
      reason,
      confirmation,
      file: null,
    }
    return runRequest(ports, request, callerGone)
  },
})

/** Runs an operation that reads a file: the file is the body, the other fields are in the query. */
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
    const identity = await authenticateSession(ports, { ...rawRequest, method: "POST", params })
    if ("error" in identity) return { ok: false, refusal: identity }
    const input = query as Readonly<Record<string, unknown>>
    const request = {
      ...toConsoleRequest(identity, rawRequest, params),
      input,
      reason: null,
      confirmation: null,
    }
    return runRequest(ports, { ...request, file: body }, callerGone)
  },
})

function toConsoleRequest(
  identity: Pick<ConsoleRequest, "companyId" | "personId">,
  { requestId, address }: RawRequest,
  { operation }: z.infer<typeof OperationParams>,
): Pick<ConsoleRequest, "companyId" | "personId" | "requestId" | "address" | "operation"> {
  const { companyId, personId } = identity
  return { companyId, personId, requestId, address, operation }
}

/** Runs an operation. A file in its answer is named by the operation and the format. */
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

/** Records that a person is using the console. */
export const heartbeat = publicRoute({
  name: "beat",
  group: "console",
  method: "POST",
  url: `${COMPANY_PATH}/presence`,
  summary: "Report that a person is using the console",
  params: z.object({ company: z.string() }),
  reply: z.object({ seenAt: z.string() }),
  refusalCodes: [SIGNED_OUT, OTHER_SITE],
  handle: async (ports, { params, rawRequest }) => {
    const identity = await authenticateSession(ports, { ...rawRequest, method: "POST", params })
    if ("error" in identity) return { ok: false, refusal: identity }
    const seenAt = ports.clock.now()
    const sighting = { personId: identity.personId, client: "dashboard" as const, seenAt }
    await ports.onlineStatus.noteSeen(identity.companyId, sighting)
    return { ok: true, body: { seenAt: new Date(seenAt).toISOString() } }
  },
})
