/**
 * `/u/:token`, outside of the API and open to whoever was sent it: not to be written to again from a sending
 * domain (RFC 8058). Only a POST does it, for programs follow links ahead of people.
 */
import { z } from "zod"
import { mailStreamOf, suppressionsStreamOf } from "../../domain/email/aggregates.ts"
import { viewOfMail } from "../../domain/email/mail.ts"
import { companyOfMail } from "../../projections/email/mails.ts"
import type { RateLimit } from "../frame/routes/checks/rate-limits.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Reply } from "../frame/routes/declare/route.ts"
import { RAW_BODY, publicRoute } from "../frame/routes/declare/route.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { copyFromUnsubscribeToken } from "./mail-copy-tokens.ts"
import { escapeHtml, htmlPage } from "../frame/routes/answers/answer-bodies.ts"

/** Where they ask for it. */
export const unsubscribePath = (token: string): string => `/u/${token}`

/** What they see who asked. */
const donePage = (): string =>
  htmlPage("Unsubscribed", "<p>You get no more mails from this sender.</p>")

const MAX_BYTES = 4_096
const UNSUBSCRIBE_LIMIT: RateLimit = {
  name: "unsubscribe",
  max: 60,
  per: "address",
  calls: "unsubscribes from this address",
}

const Nothing = z.object({})

const base = {
  group: "email",
  url: "/u/:token",
  params: z.object({ token: z.string() }),
  query: ANY_QUERY,
  refusalTitle: "Nothing was changed",
  rateLimit: UNSUBSCRIBE_LIMIT,
  reply: Nothing,
  refusalCodes: ["not_found"],
} as const

/** Whose copy a token is about, where it offered this; null where there is no such page. */
async function findUnsubscribeOffer(
  ports: Pick<Ports, "readAll" | "runner" | "sealing">,
  token: string,
) {
  const copy = copyFromUnsubscribeToken(ports.sealing, token)
  const companyId = copy === null ? null : await companyOfMail(ports.readAll, copy.mailId)
  if (copy === null || companyId === null) return null
  const view = await ports.runner.read(mailStreamOf(companyId, copy.mailId), viewOfMail)
  const found = view?.copies.find(({ recipientIndex }) => recipientIndex === copy.recipientIndex)
  if (view === null || found === undefined || !view.accepted.hasUnsubscribe) return null
  const { tag, to } = found
  return { companyId, tag, to, sendingDomainId: view.accepted.sendingDomainId }
}

const pageNotFound = (): Reply<z.infer<typeof Nothing>> => ({
  ok: false,
  refusal: refusal("not_found", "There is no such page."),
})

/** Shows the button. */
export const showUnsubscribePage = publicRoute({
  ...base,
  name: "showUnsubscribe",
  method: "GET",
  summary: "The page of an offer to unsubscribe",
  handle: async (ports, { params: { token } }) =>
    (await findUnsubscribeOffer(ports, token)) === null
      ? pageNotFound()
      : { ok: true, body: {}, page: askPage(token) },
})

/** Takes the click, a person's or that of their program of mail. */
export const unsubscribe = publicRoute({
  ...base,
  name: "unsubscribe",
  method: "POST",
  summary: "Unsubscribe",
  body: RAW_BODY,
  bodyLimitBytes: MAX_BYTES,
  handle: async (ports, { params: { token }, rawRequest }) => {
    const found = await findUnsubscribeOffer(ports, token)
    if (found === null) return pageNotFound()
    const { companyId, ...whom } = found
    const command = { type: "SuppressRecipient", reason: "unsubscribed", ...whom } as const
    const cause = causedBy(rawRequest.requestId)
    await ports.runner.execute(suppressionsStreamOf(companyId), command, cause)
    return { ok: true, body: {}, page: donePage() }
  },
})

/** The page with the button: whoever looks at links ahead of people changes nothing. */
function askPage(token: string): string {
  const action = escapeHtml(unsubscribePath(token))
  const button = `<form method="post" action="${action}"><button type="submit">Unsubscribe</button></form>`
  return htmlPage("Unsubscribe", `<p>Do you want no more mails from this sender?</p>\n${button}`)
}
