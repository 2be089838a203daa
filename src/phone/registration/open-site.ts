/** The pages of a company as somebody asks for them: at their preview, or at the company's own host name. */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { findPageSite } from "../../../projections/phone/page-sites.ts"
import type { AsSent } from "../../frame/routes/as-sent.ts"
import { fieldOf } from "../../frame/routes/as-sent.ts"
import { hostOf } from "../../frame/http/hosts.ts"
import type { Ports } from "../../frame/ports.ts"
import type { PageContent } from "./hosted-pages.ts"
import { savedOf } from "./saved.ts"

/** The path of pages: what leads to them stands behind it. */
export const PAGES_PATH = "/p"

const SLUG = /^[a-z\d]{1,64}$/

/** The pages of a company, opened. */
export interface OpenSite extends PageContent {
  readonly companyId: CompanyId
  readonly slug: string
  /** The page of the form as people see it; null for a preview. */
  readonly liveUrl: string | null
}

/** The pages of a slug; null where there are none, or none any more: their company was deleted. */
export async function openSite(ports: Ports, slug: string, sent: AsSent): Promise<OpenSite | null> {
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
