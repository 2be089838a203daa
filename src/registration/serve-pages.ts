/**
 * `/p/:slug/…`, public pages outside the API: previews at our address, live pages at the company's host name.
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

const PAGES_PATH = "/p"

const SLUG = /^[a-z\d]{1,64}$/

interface ServedSite extends PageContent {
  readonly companyId: CompanyId
  readonly slug: string
  /** The public URL of the form; null for a preview. */
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

/** The host names that serve companies' pages. */
export const pagesAlias = ({ pageHosts }: Pick<Ports, "pageHosts">): HostAlias => ({
  pathFor: (host) => {
    const found = pageHosts.find(host)
    return found === null ? null : `${PAGES_PATH}/${found.slug}`
  },
})

/** The subject that binds a form's signed time to its page. */
const formTokenSubject = (slug: string): string => `texts ${slug}`

const pageNotFound = (): Refusal => refusal("not_found", "There is no page at this address.")

const showPages = PAGE_NAMES.map((name) =>
  publicRoute({
    ...base,
    name: `show${name.charAt(0).toUpperCase()}${name.slice(1)}Page`,
    method: "GET",
    url: pageUrlOf(name),
    summary: `Show the ${name} page`,
    reply: Nothing,
    refusalCodes: ["not_found"],
    handle: (ports, { params: { slug }, rawRequest }) =>
      showSitePage(ports, slug, rawRequest, async (site) =>
        renderHostedPage(name, site, signPageTime(ports, formTokenSubject(site.slug))),
      ),
  }),
)

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
      const message = "Send the form as application/x-www-form-urlencoded."
      return { ok: false, refusal: refusal("unsupported_media_type", message) }
    }
    const site = await findServedSite(ports, slug, rawRequest)
    if (site === null) return { ok: false, refusal: pageNotFound() }
    if (!isAllowedOrigin(ports, rawRequest)) {
      const message =
        "This form was sent from a page of another host name. Open the form's own page and send it from there."
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
  // Relative to the form, at either address.
  const thanks = { ok: true, status: 303, body: {}, location: "thanks" } as const
  const signal = liveUrl === null ? null : robotSignal(ports, formTokenSubject(slug), values)
  if (signal !== null) {
    ports.counters.increment("robots", { reason: signal })
    return thanks
  }
  const agreement = parseOptInForm(values, site.pages)
  if ("fault" in agreement) {
    // Keep the form's time: a correction may be quick without being a robot's.
    const page = textsPage(site, values.get(PAGE_TIME_FIELD) ?? "", agreement.fault)
    return { ok: true, status: 400, body: {}, page }
  }
  // Nothing is recorded on a preview.
  if (liveUrl === null) return thanks
  const refused = await recordOptIn(ports, companyId, agreement, { requestId, sourceUrl: liveUrl })
  return refused === null ? thanks : { ok: false, refusal: refused }
}

/**
 * The same page for everyone; otherwise it would reveal whether another person's number texted STOP or opted
 * in.
 */
const showThanks = publicRoute({
  ...base,
  name: "showThanksPage",
  method: "GET",
  url: pageUrlOf("thanks"),
  summary: "Show the page after the form",
  reply: Nothing,
  refusalCodes: ["not_found"],
  handle: (ports, { params: { slug }, rawRequest }) =>
    showSitePage(ports, slug, rawRequest, async (site) => {
      const from = await selectSendingNumber(ports, site.companyId, null)
      return thanksPage(site, typeof from === "string" ? null : from.number)
    }),
})

const showFirst = publicRoute({
  ...base,
  name: "showFirstPage",
  method: "GET",
  url: pageUrlOf(""),
  summary: "Redirect to the form",
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
  render: (site: ServedSite) => Promise<string>,
): Promise<Reply<Nothing>> {
  const site = await findServedSite(ports, slug, sent)
  if (site === null) return { ok: false, refusal: pageNotFound() }
  return { ok: true, body: {}, page: await render(site) }
}

/** The routes of the hosted pages. */
export const hostedPageRoutes = [...showPages, agreeToTexts, showThanks, showFirst]

/** The pages of a slug; null if there are none, or their company was deleted. */
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
  // The preview path is not reachable at the company's host name, so a match means a live page.
  const isLive = host !== null && ports.pageHosts.find(host)?.slug === slug
  const liveUrl = isLive ? `https://${host}/texts` : null
  return { companyId, slug, business, pages, savedAt, isPreview: !isLive, liveUrl }
}
