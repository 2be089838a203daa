/** Opens forms and sends them, as a browser and as a program. */
import type { ApiAnswer, Company, World } from "../support/world.ts"

/** The route that lists and collects leads. */
export const LEADS_PATH = "/api/v1/leads"

/** Opens a form; returns its id. */
export async function openForm(
  world: World,
  { companyId }: Partial<Pick<Company, "companyId">>,
  changed: object = {},
): Promise<string> {
  const form = { company: companyId, name: "Contact us", hostnames: ["www.acme.example"] }
  return (await world.operate("form add", { ...form, ...changed })).formId
}

/** Values of a complete lead. */
export const SAMPLE_LEAD = {
  firstName: "Ada",
  email: "ada@example.com",
  message: "Please call me.",
}

type Headers = Readonly<Record<string, string>>

/** Sends a form as a browser does. */
export async function postForm(
  world: World,
  formId: string,
  values: Readonly<Record<string, string>> | string = SAMPLE_LEAD,
  headers: Headers = {},
): Promise<ApiAnswer> {
  const body = typeof values === "string" ? values : new URLSearchParams(values).toString()
  const type = { "content-type": "application/x-www-form-urlencoded" }
  return sendTo(world, `/forms/${formId}`, body, { ...type, ...headers })
}

/** Sends a form as a program does. */
export async function postFormJson(
  world: World,
  formId: string,
  values: object | string = SAMPLE_LEAD,
  headers: Headers = {},
): Promise<ApiAnswer> {
  const body = typeof values === "string" ? values : JSON.stringify(values)
  return sendTo(world, `/forms/${formId}`, body, { "content-type": "application/json", ...headers })
}

async function sendTo(world: World, url: string, payload: string, headers: Headers) {
  const answer = await world.app.inject({ method: "POST", url, payload, headers })
  const isJson = String(answer.headers["content-type"]).startsWith("application/json")
  const body = isJson ? answer.json() : answer.body
  return { status: answer.statusCode, headers: answer.headers, body }
}

/** Reads all leads of a company, page by page. */
export async function listAllLeads(
  world: World,
  { key }: Pick<Company, "key">,
  since: string | null = null,
): Promise<ApiAnswer["body"][]> {
  await world.operate("wait")
  const found: ApiAnswer["body"][] = []
  let cursor: string | undefined
  do {
    const parameters = {
      ...(since === null ? {} : { since }),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const query = new URLSearchParams(parameters).toString()
    const headers = { authorization: `Bearer ${key}` }
    // Not by `world.call`, whose parser drops names such as __proto__.
    const answer = await world.app.inject({ method: "GET", url: `${LEADS_PATH}?${query}`, headers })
    const body = answer.json()
    found.push(...body.leads)
    cursor = body.nextCursor
  } while (cursor !== undefined)
  return found
}

/** Exercises forms and leads: leaves an open form, a closed form, and a collected and an erased lead. */
export async function exerciseForms(
  world: World,
  company: Pick<Company, "companyId" | "key">,
): Promise<void> {
  const [open, closed] = [await openForm(world, company), await openForm(world, company)]
  const { body } = await postFormJson(world, open, {
    ...SAMPLE_LEAD,
    smsConsent: true,
    consentText: "Text me.",
  })
  await postFormJson(world, open, { phone: "+14155550100", color: "blue", utm_source: "news" })
  await postForm(world, closed)
  await world.operate("form close", { formId: closed })
  await world.call(company.key, "POST", LEADS_PATH, { body: { collected: [body.id] } })
  const [, erased] = await listAllLeads(world, company)
  await world.operate("lead erase", { leadId: erased.id })
}
