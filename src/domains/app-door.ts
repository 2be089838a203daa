/**
 * The door of companies' own web addresses: what comes by such a name never reaches the API. Whoever comes by
 * https, as a proxy says that is trusted, shows that this proxy has a certificate for it.
 */
import { domainOf } from "../../domain/domains/aggregates.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Door } from "../frame/http/hosts.ts"
import { hostOf } from "../frame/http/hosts.ts"
import type { Notice } from "../frame/http/passing/pass.ts"
import { noticePage } from "../frame/http/passing/pass.ts"
import type { Ports } from "../frame/ports.ts"
import { z } from "zod"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { openRoute } from "../frame/routes/declare/route.ts"
import { shortText } from "../frame/kernel/schema.ts"

/** What visitors are shown: no app is served by this program at such an address so far. */
const NOTHING_HERE: Notice = {
  status: 404,
  title: "Nothing is here yet",
  text: "This address is connected, and its company serves nothing at it so far.",
}

type Hostname = NonNullable<ReturnType<Ports["hostnames"]["find"]>>

/** The door. */
export function appDoor(ports: Pick<Ports, "hostnames" | "log" | "runner">): Door {
  // Told once by this process for each list that it reads: the next one says so.
  const told = new WeakSet<Hostname>()
  const passes: NonNullable<Door["passes"]> = (request, { isSecure }) => {
    const host = hostOf(request)
    const found = host === null || !isSecure ? null : ports.hostnames.find(host)
    if (host === null || found?.status !== "waiting_certificate" || told.has(found)) return
    told.add(found)
    void reached(ports, host, found).catch((error: unknown) => {
      told.delete(found)
      ports.log.warn("it could not be recorded that a web address is live", error)
    })
  }
  return {
    name: "companies' own web addresses",
    takes: (host) => ports.hostnames.find(host) !== null,
    serve: (request, response, origin) => {
      noticePage(response, NOTHING_HERE)
      passes(request, origin)
    },
    passes,
  }
}

async function reached(
  { runner }: Pick<Ports, "runner">,
  hostname: string,
  found: Hostname,
): Promise<void> {
  const stream = domainOf(found.companyId, found.domainId)
  await runner.execute(stream, { type: "ReachAppAddress", hostname }, causedBy(`visit ${hostname}`))
}

// `GET /tls/ask?domain=…`, open to everybody: whether a proxy in front may have a certificate made for a name.
// Strangers make it ask, so it is answered from memory.

/** The route. */
export const tlsAsk = openRoute({
  name: "askForCertificate",
  method: "GET",
  url: "/tls/ask",
  group: "domains",
  summary: "Whether a certificate may be had for a name",
  query: z.object({ domain: shortText(300).describe("The host name") }),
  reply: z.object({}),
  refuses: ["not_found"],
  handle: async ({ hostnames }, { query: { domain } }) => {
    if (hostnames.find(domain.toLowerCase()) !== null) return { ok: true, body: {} }
    return { ok: false, refusal: refusal("not_found", "This name leads to nobody's app here.") }
  },
})
