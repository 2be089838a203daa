/**
 * `/u/:token`: unsubscribes a recipient (RFC 8058), by POST only, because mail programs open links in advance.
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

/** The path of a copy's unsubscribe page. */
export const unsubscribePath = (token: string): string => `/u/${token}`

const donePage = (): string =>
  htmlPage("Unsubscribed", "<p>You will get no more email from this sender.</p>")

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

/** The recipient of a token whose mail had the link; null if the token is invalid. */
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
  refusal: refusal("not_found", "There is no page at this address."),
})

/** Shows the unsubscribe button. */
export const showUnsubscribePage = publicRoute({
  ...base,
  name: "showUnsubscribe",
  method: "GET",
  summary: "Show the unsubscribe page",
  handle: async (ports, { params: { token } }) =>
    (await findUnsubscribeOffer(ports, token)) === null
      ? pageNotFound()
      : { ok: true, body: {}, page: askPage(token) },
})

/** Unsubscribes, on a click by a person or by a mail program. */
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
    const { companyId, ...suppression } = found
    const command = { type: "SuppressRecipient", reason: "unsubscribed", ...suppression } as const
    const cause = causedBy(rawRequest.requestId)
    await ports.runner.execute(suppressionsStreamOf(companyId), command, cause)
    return { ok: true, body: {}, page: donePage() }
  },
})

/** The page with the button; opening it changes nothing. */
function askPage(token: string): string {
  const action = escapeHtml(unsubscribePath(token))
  const button = `<form method="post" action="${action}"><button type="submit">Unsubscribe</button></form>`
  return htmlPage(
    "Unsubscribe",
    `<p>Do you want to stop getting email from this sender?</p>\n${button}`,
  )
}
