/** Calls as traces know them: one span each, which follows from what its caller was doing. */
import type { Call } from "./call.ts"
import type { TracedAnswer } from "./answers/answer.ts"
import { NO_TRACING } from "../../../adapters/telemetry/port.ts"
import { fieldOf } from "./as-sent.ts"
import type { CallPorts } from "./carry-out.ts"
import { carryOut } from "./carry-out.ts"

/** Carries out a call. Of who calls only the company is told, and that by its id. */
export function carryOutTraced(calls: CallPorts, call: Call): Promise<TracedAnswer> {
  const { tracing } = calls.ports
  if (tracing === NO_TRACING) return carryOut(calls, call)
  const { method, url } = call.route
  const asked = {
    "http.request.method": method,
    "http.route": url,
    "ledger.request.id": call.requestId,
  }
  const spanned = { name: `${method} ${url}`, kind: "server", attributes: asked } as const
  return tracing.span(spanned, fieldOf(call, "traceparent"), async (span) => {
    const answer = await carryOut(calls, call)
    const { status, error, trace } = answer
    const { companyId, chargeId } = trace
    span.note({
      "http.response.status_code": status,
      ...(companyId !== null && { "ledger.company.id": companyId }),
      ...(chargeId !== null && { "ledger.charge.id": chargeId }),
      ...(error !== null && { "ledger.error": error }),
    })
    if (status >= 500) span.fails(error ?? String(status))
    return answer
  })
}
