/**
 * `GET /tls/ask?domain=…`, open to everybody: whether a proxy in front may have a certificate made for a name.
 * Strangers make it ask, so it is answered from memory.
 */
import { z } from "zod"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { openRoute } from "../frame/routes/declare/route.ts"
import { shortText } from "../frame/kernel/schema.ts"

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
