/**
 * `/p/:slug/…`, outside of the API and open to everybody: a company's pages. Their preview is asked for at
 * this service's own address, what people see at the company's host name, which leads here (`pagesAlias`).
 */
import { z } from "zod"
import type { Reply, RawRequest } from "../frame/routes/declare/route.ts"
import { RAW_BODY, publicRoute } from "../frame/routes/declare/route.ts"
import { headerValue } from "../frame/routes/api-call.ts"
import {
  parseForm,
  PAGE_TIME_FIELD,
  robotSignal,
  isAllowedOrigin,
  signPageTime,
} from "../frame/routes/declare/public-form.ts"
import type { RateLimit } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"
import type { HostAlias } from "../frame/http/host-routes.ts"
import { requestHostname } from "../frame/http/host-routes.ts"
import type { Ports } from "../frame/ports.ts"
import { selectSendingNumber } from "./sending-number.ts"
import { parseOptInForm } from "./opt-in-form.ts"
import type { PageContent } from "./hosted-pages.ts"
import { renderHostedPage, textsPage, thanksPage } from "./hosted-pages.ts"
import { PAGE_NAMES } from "./texting-pages.ts"
import { recordOptIn } from "./record-opt-in.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { deletionOf } from "../../domain/charging/deletion.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { findPageSite } from "../../projections/registration/page-sites.ts"
import { readSavedRegistration } from "./saved-registration.ts"

/** The path of pages: what leads to them stands behind it. */
const PAGES_PATH = "/p"

const SLUG = /^[a-z\d]{1,64}$/

/** The pages of a company, opened. */
interface ServedSite extends PageContent {
  readonly companyId: CompanyId
  readonly slug: string
  /** The page of the form as people see it; null for a preview. */
  readonly liveUrl: string | null
}

const MAX_BYTES = 16_384
const FORMS_SENT: RateLimit = {
  name: "texts form",
  max: 5,
  per: "address",
  calls: "forms sent from this address",
}

const base = {
  group: "phone",
  params: z.object({ slug: z.string() }),
  query: ANY_QUERY,
  refusalTitle: "Nothing is here",
} as const
const Nothing = z.object({})
type Nothing = z.infer<typeof Nothing>

const pageUrlOf = (rest: string): string => `${PAGES_PATH}/:slug/${rest}`

/** The host names at which companies' pages are served. */
export const pagesAlias = ({ pageHosts }: Pick<Ports, "pageHosts">): HostAlias => ({
  pathFor: (host) => {
    const found = pageHosts.find(host)
    return found === null ? null : `${PAGES_PATH}/${found.slug}`
  },
})

/** What a page and its form share, and nobody else can say when it was made. */
const formTokenSubject = (slug: string): string => `texts ${slug}`

const pageNotFound = (): Refusal => refusal("not_found", "There is no such page.")

/** Shows one of the three pages. */
const showPages = PAGE_NAMES.map((name) =>
  publicRoute({
    ...base,
    name: `show${name.charAt(0).toUpperCase()}${name.slice(1)}Page`,
    method: "GET",
    url: pageUrlOf(name),
    summary: `The page of ${name}`,
    reply: Nothing,
    refusalCodes: ["not_found"],
    handle: (ports, { params: { slug }, rawRequest }) =>
      showSitePage(ports, slug, rawRequest, async (site) =>
        renderHostedPage(name, site, signPageTime(ports, formTokenSubject(site.slug))),
      ),
  }),
)

/** Takes in that somebody agrees to texts. */
const agreeToTexts = publicRoute({
  ...base,
  name: "agreeToTexts",
  method: "POST",
  url: pageUrlOf("texts"),
  summary: "Agree to texts",
  refusalTitle: "Nothing was sent",
  rateLimit: FORMS_SENT,
  bodyLimitBytes: MAX_BYTES,
  body: RAW_BODY,
  statuses: [303, 400],
  reply: Nothing,
  refusalCodes: ["not_allowed", "not_found", "rate_limited", "too_large", "unsupported_media_type"],
  handle: async (ports, { body, params: { slug }, rawRequest }) => {
    const form = parseForm(rawRequest, body)
    if ("refusal" in form) return { ok: false, refusal: form.refusal }
    if (!form.isFromBrowser) {
      const message = "Send the form as browsers do: application/x-www-form-urlencoded."
      return { ok: false, refusal: refusal("unsupported_media_type", message) }
    }
    const site = await findServedSite(ports, slug, rawRequest)
    if (site === null) return { ok: false, refusal: pageNotFound() }
    if (!isAllowedOrigin(ports, rawRequest)) {
      const message = "This form is not sent from pages of another host name."
      return { ok: false, refusal: refusal("not_allowed", message) }
    }
    return submitOptInForm(ports, site, form.values, rawRequest)
  },
})

async function submitOptInForm(
  ports: Pick<Ports, "clock" | "counters" | "ttlStore" | "runner" | "sealing">,
  site: ServedSite,
  values: ReadonlyMap<string, string>,
  { requestId }: RawRequest,
): Promise<Reply<Nothing, 303 | 400>> {
  const { companyId, slug, liveUrl } = site
  // Beside the form, wherever that is.
  const thanks = { ok: true, status: 303, body: {}, location: "thanks" } as const
  const by = liveUrl === null ? null : robotSignal(ports, formTokenSubject(slug), values)
  if (by !== null) {
    ports.counters.increment("robots", { by })
    return thanks
  }
  const agreement = parseOptInForm(values, site.pages)
  if ("fault" in agreement) {
    // The same time: whoever mends one field may be quick.
    const page = textsPage(site, values.get(PAGE_TIME_FIELD) ?? "", agreement.fault)
    return { ok: true, status: 400, body: {}, page }
  }
  // Nobody agrees to anything on a preview.
  if (liveUrl === null) return thanks
  const why = await recordOptIn(ports, companyId, agreement, { requestId, sourceUrl: liveUrl })
  return why === null ? thanks : { ok: false, refusal: why }
}

/**
 * Shows that somebody agreed: the same to everybody. Else whoever types in another's number would learn
 * whether that texted STOP, or agreed before.
 */
const showThanks = publicRoute({
  ...base,
  name: "showThanksPage",
  method: "GET",
  url: pageUrlOf("thanks"),
  summary: "The page behind the form",
  reply: Nothing,
  refusalCodes: ["not_found"],
  handle: (ports, { params: { slug }, rawRequest }) =>
    showSitePage(ports, slug, rawRequest, async (site) => {
      const from = await selectSendingNumber(ports, site.companyId, null)
      return thanksPage(site, typeof from === "string" ? null : from.number)
    }),
})

/** Leads who asks for the host name alone to the form. */
const showFirst = publicRoute({
  ...base,
  name: "showFirstPage",
  method: "GET",
  url: pageUrlOf(""),
  summary: "The first of the pages",
  statuses: [303],
  reply: Nothing,
  refusalCodes: ["not_found"],
  handle: async (ports, { params: { slug }, rawRequest }) => {
    const site = await findServedSite(ports, slug, rawRequest)
    if (site === null) return { ok: false, refusal: pageNotFound() }
    return { ok: true, body: {}, location: "texts" }
  },
})

async function showSitePage(
  ports: Pick<Ports, "pageHosts" | "readAll" | "runner" | "sealing">,
  slug: string,
  sent: RawRequest,
  madeOf: (site: ServedSite) => Promise<string>,
): Promise<Reply<Nothing>> {
  const site = await findServedSite(ports, slug, sent)
  if (site === null) return { ok: false, refusal: pageNotFound() }
  return { ok: true, body: {}, page: await madeOf(site) }
}

/** What of the pages browsers open and send. */
export const hostedPageRoutes = [...showPages, agreeToTexts, showThanks, showFirst]

/** The pages of a slug; null where there are none, or none any more: their company was deleted. */
async function findServedSite(
  ports: Pick<Ports, "pageHosts" | "readAll" | "runner" | "sealing">,
  slug: string,
  sent: RawRequest,
): Promise<ServedSite | null> {
  const row = SLUG.test(slug) ? await findPageSite(ports.readAll, slug) : null
  if (row === null) return null
  const { company_id: companyId } = row
  if ((await ports.runner.read(ledgerStreamOf(companyId), deletionOf)) !== null) return null
  const { business, pages: saved } = await readSavedRegistration(ports, companyId)
  if (business === null || saved === null) return null
  const { pages, savedAt } = saved
  const host = requestHostname({ headers: { host: headerValue(sent, "host") ?? "" } })
  // The path of the preview cannot be asked for at that host name: whatever comes by it is led to its own.
  const isLive = host !== null && ports.pageHosts.find(host)?.slug === slug
  const liveUrl = isLive ? `https://${host}/texts` : null
  return { companyId, slug, business, pages, savedAt, isPreview: !isLive, liveUrl }
}
