/**
 * The door of companies' own web addresses: what comes by such a name never reaches the API. Whoever comes by
 * https, as a proxy says that is trusted, shows that this proxy has a certificate for it.
 */
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

/** What visitors are shown: no app is served by this program at such an address so far. */
const NOTHING_SERVED_NOTICE: NoticePage = {
  status: 404,
  title: "Nothing is here yet",
  text: "This address is connected, and its company serves nothing at it so far.",
}

type AppHostname = NonNullable<ReturnType<Ports["hostnames"]["find"]>>

/** The door. */
export function appHostRoute(ports: Pick<Ports, "hostnames" | "log" | "runner">): HostRoute {
  // Told once by this process for each list that it reads: the next one says so.
  const told = new WeakSet<AppHostname>()
  const onAliased: NonNullable<HostRoute["onAliased"]> = (request, { isSecure }) => {
    const host = requestHostname(request)
    const found = host === null || !isSecure ? null : ports.hostnames.find(host)
    if (host === null || found?.status !== "waiting_certificate" || told.has(found)) return
    told.add(found)
    void recordAddressReached(ports, host, found).catch((error: unknown) => {
      told.delete(found)
      ports.log.warn("it could not be recorded that a web address is live", error)
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

// `GET /tls/ask?domain=…`, open to everybody: whether a proxy in front may have a certificate made for a name.
// Strangers make it ask, so it is answered from memory.

/** The route. */
export const askForCertificate = publicRoute({
  name: "askForCertificate",
  method: "GET",
  url: "/tls/ask",
  group: "domains",
  summary: "Whether a certificate may be had for a name",
  query: z.object({ domain: boundedText(300).describe("The host name") }),
  reply: z.object({}),
  refusalCodes: ["not_found"],
  handle: async ({ hostnames }, { query: { domain } }) => {
    if (hostnames.find(domain.toLowerCase()) !== null) return { ok: true, body: {} }
    return { ok: false, refusal: refusal("not_found", "This name leads to nobody's app here.") }
  },
})
