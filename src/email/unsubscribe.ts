/**
 * `/u/:token`, outside of the API and open to whoever was sent it: not to be written to again from a sending
 * domain (RFC 8058). Only a POST does it, for programs follow links ahead of people.
 */
import { z } from "zod"
import { mailOf, suppressionsOf } from "../../domain/email/aggregates.ts"
import { mailView } from "../../domain/email/mail.ts"
import { companyOfMail } from "../../projections/email/mails.ts"
import type { RateLimit } from "../frame/routes/checks/rate-limits.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Reply } from "../frame/routes/declare/route.ts"
import { BYTES, openRoute } from "../frame/routes/declare/route.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { copyOfToken } from "./copy-names.ts"
import { escaped, htmlPage } from "../frame/routes/answers/sent.ts"

/** Where they ask for it. */
export const unsubscribePath = (token: string): string => `/u/${token}`

/** What they see who asked. */
const donePage = (): string =>
  htmlPage("Unsubscribed", "<p>You get no more mails from this sender.</p>")

const MOST_BYTES = 4_096
const CLICKS: RateLimit = {
  name: "unsubscribe",
  most: 60,
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
  limit: CLICKS,
  reply: Nothing,
  refuses: ["not_found"],
} as const

/** Whose copy a token is about, where it offered this; null where there is no such page. */
async function offered(ports: Pick<Ports, "readAll" | "runner" | "sealing">, token: string) {
  const copy = copyOfToken(ports.sealing, token)
  const companyId = copy === null ? null : await companyOfMail(ports.readAll, copy.mailId)
  if (copy === null || companyId === null) return null
  const view = await ports.runner.read(mailOf(companyId, copy.mailId), mailView)
  const found = view?.copies.find(({ recipientIndex }) => recipientIndex === copy.n)
  if (view === null || found === undefined || !view.accepted.hasUnsubscribe) return null
  const { tag, to } = found
  return { companyId, tag, to, sendingDomainId: view.accepted.sendingDomainId }
}

const noPage = (): Reply<z.infer<typeof Nothing>> => ({
  ok: false,
  refusal: refusal("not_found", "There is no such page."),
})

/** Shows the button. */
export const showUnsubscribe = openRoute({
  ...base,
  name: "showUnsubscribe",
  method: "GET",
  summary: "The page of an offer to unsubscribe",
  handle: async (ports, { params: { token } }) =>
    (await offered(ports, token)) === null
      ? noPage()
      : { ok: true, body: {}, page: askPage(token) },
})

/** Takes the click, a person's or that of their program of mail. */
export const unsubscribe = openRoute({
  ...base,
  name: "unsubscribe",
  method: "POST",
  summary: "Unsubscribe",
  body: BYTES,
  bodyLimitBytes: MOST_BYTES,
  handle: async (ports, { params: { token }, sent }) => {
    const found = await offered(ports, token)
    if (found === null) return noPage()
    const { companyId, ...whom } = found
    const command = { type: "SuppressRecipient", reason: "unsubscribed", ...whom } as const
    const cause = causedBy(sent.requestId)
    await ports.runner.execute(suppressionsOf(companyId), command, cause)
    return { ok: true, body: {}, page: donePage() }
  },
})

/** The page with the button: whoever looks at links ahead of people changes nothing. */
function askPage(token: string): string {
  const action = escaped(unsubscribePath(token))
  const button = `<form method="post" action="${action}"><button type="submit">Unsubscribe</button></form>`
  return htmlPage("Unsubscribe", `<p>Do you want no more mails from this sender?</p>\n${button}`)
}
