import { domainStreamOf } from "../../domain/domains/aggregates.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { HostRoute } from "../frame/http/host-routes.ts"
import { requestHostname } from "../frame/http/host-routes.ts"
import type { NoticePage } from "../frame/http/proxy/proxy.ts"
import { sendNoticePage } from "../frame/http/proxy/proxy.ts"
import type { Ports } from "../frame/ports.ts"
import { z } from "zod"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { publicRoute } from "../frame/routes/declare/route.ts"
import { boundedText } from "../frame/kernel/schema.ts"

const NOTHING_SERVED_NOTICE: NoticePage = {
  status: 404,
  title: "Nothing is here yet",
  text: "This address is connected, but its company does not serve anything here yet.",
}

type AppHostname = NonNullable<ReturnType<Ports["hostnames"]["find"]>>

/** The host route of companies' web addresses; a visit over https proves that the proxy has a certificate. */
export function appHostRoute(ports: Pick<Ports, "hostnames" | "log" | "runner">): HostRoute {
  // Each process records a visit once for each list that it loads; the next list has the new status.
  const recorded = new WeakSet<AppHostname>()
  const onAliased: NonNullable<HostRoute["onAliased"]> = (request, { isSecure }) => {
    const host = requestHostname(request)
    const found = host === null || !isSecure ? null : ports.hostnames.find(host)
    if (host === null || found?.status !== "waiting_certificate" || recorded.has(found)) return
    recorded.add(found)
    void recordAddressReached(ports, host, found).catch((error: unknown) => {
      recorded.delete(found)
      ports.log.warn(
        "the first visit to a web address could not be recorded; the next visit retries",
        error,
      )
    })
  }
  return {
    name: "companies' own web addresses",
    matches: (host) => ports.hostnames.find(host) !== null,
    serve: (request, response, origin) => {
      sendNoticePage(response, NOTHING_SERVED_NOTICE)
      onAliased(request, origin)
    },
    onAliased,
  }
}

async function recordAddressReached(
  { runner }: Pick<Ports, "runner">,
  hostname: string,
  found: AppHostname,
): Promise<void> {
  const stream = domainStreamOf(found.companyId, found.domainId)
  await runner.execute(
    stream,
    { type: "MarkAppAddressReached", hostname },
    causedBy(`visit ${hostname}`),
  )
}

/**
 * Tells a proxy whether it may request a certificate; answers from memory, because any visitor can trigger it.
 */
export const askForCertificate = publicRoute({
  name: "askForCertificate",
  method: "GET",
  url: "/tls/ask",
  group: "domains",
  summary: "Check whether a certificate may be requested for a name",
  query: z.object({ domain: boundedText(300).describe("The host name") }),
  reply: z.object({}),
  refusalCodes: ["not_found"],
  handle: async ({ hostnames }, { query: { domain } }) => {
    if (hostnames.find(domain.toLowerCase()) !== null) return { ok: true, body: {} }
    return { ok: false, refusal: refusal("not_found", "There is no web address with this name.") }
  },
})
