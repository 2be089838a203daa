/** Companies with texting pages, and requests of visitors. */
import { makeLiveDomain, postDomain } from "../domains/domain-world.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { BUSINESS_INPUT, phoneRouteBody } from "./registration-world.ts"

export const PAGES_PATH = "/api/v1/phone/pages"

/** Valid settings of hosted pages without a host name. */
export const HOSTED_PAGE_SETTINGS = {
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
export const postBusiness = (world: World, company: Known, changed: object = {}): Promise<object> =>
  phoneRouteBody(world, company, "PUT business", { ...BUSINESS_INPUT, ...changed })

/** Saves the settings of pages. */
export const postPages = (world: World, { key }: Known, changed: object = {}): Promise<ApiAnswer> =>
  world.call(key, "PUT", PAGES_PATH, { body: { ...HOSTED_PAGE_SETTINGS, ...changed } })

/** Saves business details and pages, and returns the path of the preview. */
export async function makePages(
  world: World,
  company: Known,
  changed: { readonly business?: object; readonly pages?: object } = {},
): Promise<string> {
  await postBusiness(world, company, changed.business)
  const { body } = await postPages(world, company, changed.pages)
  return new URL(body.previewUrls.texts).pathname.replace(/\/texts$/, "")
}

/** Loads the current host names into this process. */
export async function loadHostNames({ operate, ports }: World): Promise<void> {
  await operate("wait")
  await ports.hostnames.refresh()
  await ports.pageHosts.refresh()
}

/** A company whose pages are served at a host name of its own. */
export async function makeHostedPages(world: World, changed: Parameters<typeof makePages>[2] = {}) {
  const { company, domain, domainId } = await makeLiveDomain(world)
  const hostname = `texts.${domain}`
  await postDomain(world, company, { action: "save_app_address", domainId, hostname })
  const pages = { hostname, ...changed.pages }
  const preview = await makePages(world, company, { ...changed, pages })
  await loadHostNames(world)
  return { company, domain, domainId, hostname, preview }
}

interface VisitRequest {
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "DELETE"
  readonly headers?: Readonly<Record<string, string>>
  readonly payload?: string
}

/** Sends a request to a host name, as a browser does. */
export async function visitHost(
  world: World,
  host: string,
  url: string,
  request: VisitRequest = {},
) {
  const { method = "GET", headers = {}, ...rest } = request
  const all = { host, accept: "text/html", ...headers }
  const answer = await world.app.inject({ method, url, headers: all, ...rest })
  return { status: answer.statusCode, headers: answer.headers, body: answer.body }
}

/** The signed time in a form. */
export const formTimeIn = (html: string): string =>
  /name="_time" value="([^"]*)"/.exec(html)?.[1] ?? ""

/** Loads a form and waits for three seconds. Returns the form's signed time. */
export async function waitForFormTime(world: World, host: string): Promise<string> {
  const time = formTimeIn((await visitHost(world, host, "/texts")).body)
  await world.operate("clock advance", { duration: "3s" })
  return time
}

/** Submits an opt-in form. */
export const submitOptIn = (
  world: World,
  host: string,
  values: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
  url = "/texts",
) => {
  const type = { "content-type": "application/x-www-form-urlencoded" }
  const payload = new URLSearchParams(values).toString()
  return visitHost(world, host, url, { method: "POST", headers: { ...type, ...headers }, payload })
}

/** The opt-ins of a company. */
export async function optInsOf(world: World, { key }: Known): Promise<ApiAnswer["body"][]> {
  await world.operate("wait")
  return (await world.call(key, "GET", "/api/v1/phone/optins")).body.optins
}
