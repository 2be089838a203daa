/**
 * `/p/:slug/…`, outside of the API and open to everybody: a company's pages. Their preview is asked for at
 * this service's own address, what people see at the company's host name, which leads here (`pagesAlias`).
 */
import { z } from "zod"
import type { Reply, AsSent } from "../frame/routes/declare/route.ts"
import { BYTES, openRoute } from "../frame/routes/declare/route.ts"
import { fieldOf } from "../frame/routes/call.ts"
import {
  formIn,
  PAGE_TIME,
  givenAwayBy,
  mayCome,
  signedTime,
} from "../frame/routes/declare/form-sender.ts"
import type { RateLimit } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"
import type { Alias } from "../frame/http/hosts.ts"
import { hostOf } from "../frame/http/hosts.ts"
import type { Ports } from "../frame/ports.ts"
import { sendingNumber } from "./sending-number.ts"
import { agreementIn } from "./agreement.ts"
import type { PageContent } from "./hosted-pages.ts"
import { pageOf, textsPage, thanksPage } from "./hosted-pages.ts"
import { PAGE_NAMES } from "./pages.ts"
import { recordOptIn } from "./record-opt-in.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { deletionOf } from "../../domain/charging/deletion.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { findPageSite } from "../../projections/registration/page-sites.ts"
import { savedOf } from "./saved.ts"

/** The path of pages: what leads to them stands behind it. */
const PAGES_PATH = "/p"

const SLUG = /^[a-z\d]{1,64}$/

/** The pages of a company, opened. */
interface OpenSite extends PageContent {
  readonly companyId: CompanyId
  readonly slug: string
  /** The page of the form as people see it; null for a preview. */
  readonly liveUrl: string | null
}

const MOST_BYTES = 16_384
const FORMS_SENT: RateLimit = {
  name: "texts form",
  most: 5,
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

const urlOf = (rest: string): string => `${PAGES_PATH}/:slug/${rest}`

/** The host names at which companies' pages are served. */
export const pagesAlias = ({ pageHosts }: Pick<Ports, "pageHosts">): Alias => ({
  leadsTo: (host) => {
    const found = pageHosts.find(host)
    return found === null ? null : `${PAGES_PATH}/${found.slug}`
  },
})

/** What a page and its form share, and nobody else can say when it was made. */
const formOf = (slug: string): string => `texts ${slug}`

const noPages = (): Refusal => refusal("not_found", "There is no such page.")

/** Shows one of the three pages. */
const showPages = PAGE_NAMES.map((name) =>
  openRoute({
    ...base,
    name: `show${name.charAt(0).toUpperCase()}${name.slice(1)}Page`,
    method: "GET",
    url: urlOf(name),
    summary: `The page of ${name}`,
    reply: Nothing,
    refuses: ["not_found"],
    handle: (ports, { params: { slug }, sent }) =>
      shown(ports, slug, sent, async (site) =>
        pageOf(name, site, signedTime(ports, formOf(site.slug))),
      ),
  }),
)

/** Takes in that somebody agrees to texts. */
const agreeToTexts = openRoute({
  ...base,
  name: "agreeToTexts",
  method: "POST",
  url: urlOf("texts"),
  summary: "Agree to texts",
  refusalTitle: "Nothing was sent",
  limit: FORMS_SENT,
  bodyLimitBytes: MOST_BYTES,
  body: BYTES,
  success: [303, 400],
  reply: Nothing,
  refuses: ["not_allowed", "not_found", "rate_limited", "too_large", "unsupported_media_type"],
  handle: async (ports, { body, params: { slug }, sent }) => {
    const form = formIn(sent, body)
    if ("refusal" in form) return { ok: false, refusal: form.refusal }
    if (!form.isPage) {
      const message = "Send the form as browsers do: application/x-www-form-urlencoded."
      return { ok: false, refusal: refusal("unsupported_media_type", message) }
    }
    const site = await openSite(ports, slug, sent)
    if (site === null) return { ok: false, refusal: noPages() }
    if (!mayCome(ports, sent)) {
      const message = "This form is not sent from pages of another host name."
      return { ok: false, refusal: refusal("not_allowed", message) }
    }
    return takeIn(ports, site, form.values, sent)
  },
})

async function takeIn(
  ports: Pick<Ports, "clock" | "counts" | "kept" | "runner" | "sealing">,
  site: OpenSite,
  values: ReadonlyMap<string, string>,
  { requestId }: AsSent,
): Promise<Reply<Nothing, 303 | 400>> {
  const { companyId, slug, liveUrl } = site
  // Beside the form, wherever that is.
  const thanks = { ok: true, status: 303, body: {}, location: "thanks" } as const
  const by = liveUrl === null ? null : givenAwayBy(ports, formOf(slug), values)
  if (by !== null) {
    ports.counts.add("robots", { by })
    return thanks
  }
  const agreement = agreementIn(values, site.pages)
  if ("fault" in agreement) {
    // The same time: whoever mends one field may be quick.
    const page = textsPage(site, values.get(PAGE_TIME) ?? "", agreement.fault)
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
const showThanks = openRoute({
  ...base,
  name: "showThanksPage",
  method: "GET",
  url: urlOf("thanks"),
  summary: "The page behind the form",
  reply: Nothing,
  refuses: ["not_found"],
  handle: (ports, { params: { slug }, sent }) =>
    shown(ports, slug, sent, async (site) => {
      const from = await sendingNumber(ports, site.companyId, null)
      return thanksPage(site, typeof from === "string" ? null : from.number)
    }),
})

/** Leads who asks for the host name alone to the form. */
const showFirst = openRoute({
  ...base,
  name: "showFirstPage",
  method: "GET",
  url: urlOf(""),
  summary: "The first of the pages",
  success: [303],
  reply: Nothing,
  refuses: ["not_found"],
  handle: async (ports, { params: { slug }, sent }) => {
    const site = await openSite(ports, slug, sent)
    if (site === null) return { ok: false, refusal: noPages() }
    return { ok: true, body: {}, location: "texts" }
  },
})

async function shown(
  ports: Pick<Ports, "pageHosts" | "readAll" | "runner" | "sealing">,
  slug: string,
  sent: AsSent,
  madeOf: (site: OpenSite) => Promise<string>,
): Promise<Reply<Nothing>> {
  const site = await openSite(ports, slug, sent)
  if (site === null) return { ok: false, refusal: noPages() }
  return { ok: true, body: {}, page: await madeOf(site) }
}

/** What of the pages browsers open and send. */
export const hostedPages = [...showPages, agreeToTexts, showThanks, showFirst]

/** The pages of a slug; null where there are none, or none any more: their company was deleted. */
async function openSite(
  ports: Pick<Ports, "pageHosts" | "readAll" | "runner" | "sealing">,
  slug: string,
  sent: AsSent,
): Promise<OpenSite | null> {
  const row = SLUG.test(slug) ? await findPageSite(ports.readAll, slug) : null
  if (row === null) return null
  const { company_id: companyId } = row
  if ((await ports.runner.read(ledgerOf(companyId), deletionOf)) !== null) return null
  const { business, pages: saved } = await savedOf(ports, companyId)
  if (business === null || saved === null) return null
  const { pages, savedAt } = saved
  const host = hostOf({ headers: { host: fieldOf(sent, "host") ?? "" } })
  // The path of the preview cannot be asked for at that host name: whatever comes by it is led to its own.
  const isLive = host !== null && ports.pageHosts.find(host)?.slug === slug
  const liveUrl = isLive ? `https://${host}/texts` : null
  return { companyId, slug, business, pages, savedAt, isPreview: !isLive, liveUrl }
}
