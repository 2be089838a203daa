/** Companies with pages of texting registration, and whoever comes to them. */
import { makeLive, post as postDomain } from "../domains/domain-world.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { BUSINESS, done } from "./registering.ts"

/** The path of the pages' settings. */
export const PAGES = "/api/v1/phone/pages"

/** Right settings of hosted pages without a host name. */
export const SETTINGS = {
  mode: "hosted",
  services: "orders and pick-ups",
  offers: true,
  offersPerMonth: 4,
  optinPhone: false,
  optinPaper: true,
  supportPhone: "+15125550124",
  supportEmail: "help@acme.example",
} as const

type Known = Pick<Company, "companyId" | "key">

/** Saves business details. */
export const saveBusiness = (world: World, company: Known, changed: object = {}): Promise<object> =>
  done(world, company, "PUT business", { ...BUSINESS, ...changed })

/** Saves settings of pages. */
export const savePages = (world: World, { key }: Known, changed: object = {}): Promise<ApiAnswer> =>
  world.call(key, "PUT", PAGES, { body: { ...SETTINGS, ...changed } })

/** Saves both; resolves with the path of the preview. */
export async function makePages(
  world: World,
  company: Known,
  changed: { readonly business?: object; readonly pages?: object } = {},
): Promise<string> {
  await saveBusiness(world, company, changed.business)
  const { body } = await savePages(world, company, changed.pages)
  return new URL(body.previewUrls.texts).pathname.replace(/\/texts$/, "")
}

/** Has this process know at which host names there is something. */
export async function listHosts({ operate, ports }: World): Promise<void> {
  await operate("wait")
  await ports.hostnames.refresh()
  await ports.pageHosts.refresh()
}

/** A company whose pages are served at a host name of its own. */
export async function makeHosted(world: World, changed: Parameters<typeof makePages>[2] = {}) {
  const { company, domain, domainId } = await makeLive(world)
  const hostname = `texts.${domain}`
  await postDomain(world, company, { action: "save_app_address", domainId, hostname })
  const pages = { hostname, ...changed.pages }
  const preview = await makePages(world, company, { ...changed, pages })
  await listHosts(world)
  return { company, domain, domainId, hostname, preview }
}

/** What somebody sends. */
interface Asked {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "DELETE"
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: string
}

/** Comes by a host name, as a browser does. */
export async function visit(world: World, host: string, url: string, asked: Asked = {}) {
  const { method = "GET", headers = {}, ...rest } = asked
  const all = { host, accept: "text/html", ...headers }
  const answer = await world.app.inject({ method, url, headers: all, ...rest })
  return { status: answer.statusCode, headers: answer.headers, body: answer.body }
}

/** When a page was made, as it stands in it. */
export const timeIn = (html: string): string => /name="_time" value="([^"]*)"/.exec(html)?.[1] ?? ""

/** Looks at a form for a while; resolves with what the page says of when it was made. */
export async function timeOf(world: World, host: string): Promise<string> {
  const time = timeIn((await visit(world, host, "/texts")).body)
  await world.operate("clock advance", { duration: "3s" })
  return time
}

/** Sends a form. */
export const send = (
  world: World,
  host: string,
  values: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
  url = "/texts",
) => {
  const type = { "content-type": "application/x-www-form-urlencoded" }
  const payload = new URLSearchParams(values).toString()
  return visit(world, host, url, { method: "POST", headers: { ...type, ...headers }, payload })
}

/** The opt-ins of a company. */
export async function optInsOf(world: World, { key }: Known): Promise<ApiAnswer["body"][]> {
  await world.operate("wait")
  return (await world.call(key, "GET", "/api/v1/phone/optins")).body.optins
}
