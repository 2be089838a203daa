/** The answers that the document shows, held against what is answered: they are true, and there. */
import { readFile, writeFile } from "node:fs/promises"
import { expect, describe, it } from "vitest"
import { isRouteVariants } from "../../../src/frame/routes/declare/route-variants.ts"
import type { Route } from "../../../src/frame/routes/declare/route.ts"
import type { ExampleAnswers } from "../../../src/frame/http/documents/document-responses.ts"
import { openApi } from "../../../src/frame/http/documents/documents.ts"
import { EXAMPLE_ANSWERS_FILE, DOCUMENT_EXTRAS } from "../../../src/document-examples.ts"
import { PROGRAM } from "../../../src/slices.ts"
import { addVerifiedDomain } from "../../email/mail-world.ts"
import { allAnswerScenarios } from "../../support/route-scenarios.ts"
import { allReadAfterWriteCases } from "../../support/route-scenarios.ts"
import { validRequest } from "../../support/api-contract.ts"
import type { ApiAnswer, Company, World } from "../../support/world.ts"
import { makeCompany, ownWorld } from "../../support/world.ts"

/** What is made comes before what is read, and what is taken away behind it. */
const ORDER: readonly Route["method"][] = ["POST", "PUT", "PATCH", "GET", "DELETE"]

/** The answers of all routes, by name and status. The company that is asked for is deleted at the end. */
async function askAll(world: World): Promise<ExampleAnswers> {
  const company = await makeAcme(world)
  const answers: Record<string, Record<string, unknown>> = {}
  const take = (name: string, { status, headers, body }: ApiAnswer) => {
    const type = String(headers["content-type"]).split(";", 1)[0] as string
    const file = type.startsWith("text/") ? (body as unknown) : "…"
    const shown = type === "application/json" ? shortened(body) : { type, file }
    answers[name] = { ...answers[name], [status]: shown }
  }
  for (const { writeValue } of Object.values(await allReadAfterWriteCases()))
    await writeValue(world, company)
  const last = (route: Route) =>
    Number(typeof route.example === "object" && "omittedInTests" in route.example)
  const routes = PROGRAM.routes.toSorted(
    (a, b) => last(a) - last(b) || ORDER.indexOf(a.method) - ORDER.indexOf(b.method),
  )
  // What an example names is made up: the slice's tests ask for one that is there.
  const others = await allAnswerScenarios()
  const isNamed = ({ name, url, statuses = [200] }: Route) =>
    url.includes("/:") || statuses.every((status) => `${name} ${status}` in others)
  for (const route of routes.filter((one) => last(one) === 0 && !isNamed(one))) {
    take(route.name, await asShown(world, company, route))
  }
  for (const [name, ask] of Object.entries(others)) {
    const [route = "", status] = name.split(" ")
    const answer = await ask(world, company)
    expect(`${route} ${answer.status}`).toBe(`${route} ${status}`)
    take(route, answer)
  }
  for (const route of routes.filter((one) => last(one) === 1)) {
    take(route.name, await asShown(world, company, route))
  }
  return answers
}

/** The company of the examples. */
async function makeAcme(world: World): Promise<Company> {
  const company = await makeCompany(world, {
    name: "Acme",
    ownerName: "Ada Lovelace",
    ownerEmail: "ada@example.com",
    key: { addFundsPerPurchase: "25", addFundsPerMonth: "100" },
  })
  const invited = { email: "grace@example.com", role: "developer" }
  await world.operate("person invite", { company: company.companyId, ...invited })
  // What its mails are from.
  await addVerifiedDomain(world.ports, company.companyId, "acme.example")
  return company
}

/** Sends what the route's example shows, whatever tests leave out of it. */
async function asShown(world: World, company: Company, route: Route): Promise<ApiAnswer> {
  await world.operate("wait")
  const at = world.ports.clock.now()
  const { path, query, headers } = validRequest(route, at)
  const { body } = typeof route.example === "function" ? route.example(at) : (route.example ?? {})
  const key = route.auth === false ? null : company.key
  const answer = await world.call(key, route.method, `${path}${query}`, {
    headers: { ...headers },
    ...(body === undefined ? {} : { body }),
  })
  expect([route.name, answer.body, answer.status < 300]).toEqual([route.name, answer.body, true])
  return answer
}

/** An answer with the entry of each list that says most, and without what somebody could call with. */
function shortened(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll(/\bcpk_\w+/g, "cpk_…")
  if (typeof value !== "object" || value === null) return value
  if (!Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]))
  }
  if (value.every((one) => typeof one !== "object")) return value.map(shortened)
  const [fullest] = value.toSorted((a, b) => saidIn(b) - saidIn(a))
  return [shortened(fullest)]
}

/** How many values there are in something. */
function saidIn(value: unknown): number {
  if (typeof value !== "object") return 1
  return Object.values(value ?? {}).reduce((sum: number, one: unknown) => sum + saidIn(one), 0)
}

/** Set by `npm run answers`. */
const isWriting = process.env["LEDGER_WRITE_ANSWERS"] === "1"
const HOW = "`npm run answers` asks for it"

// Its own: an answer shows a number that only one company can buy.
const world = await ownWorld("store", { rateLimits: "off" })

/** Puts what is no longer as it is answered into the file, and leaves the rest as it stands. */
async function writeAnew(): Promise<void> {
  const kept = PROGRAM.routes.map((route) => {
    const { name } = route
    const byStatus = statusesOf(route).map((status) => {
      const [was, is] = [DOCUMENT_EXTRAS.answers[name]?.[status], asked[name]?.[status]]
      return [status, isSame(route, was, is) ? was : is] as const
    })
    return [name, Object.fromEntries(byStatus)] as const
  })
  await writeFile(EXAMPLE_ANSWERS_FILE, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`)
}

const statusesOf = ({ statuses = [200], bodilessStatuses = [] }: Route): readonly number[] =>
  statuses.filter((status) => !bodilessStatuses.includes(status))

/** The names within an answer, those of what is listed too. */
function namesIn(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return null
  if (Array.isArray(value)) return value.map(namesIn)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, namesIn(one)]))
}

/** A file that is shown: its type, and its text where it has one. */
interface ShownFile {
  readonly type: string
  readonly file: string
}

/** What a file must be like to be shown for another: its type and, of a table, the names of its columns. */
function formOf({ type, file }: ShownFile): readonly string[] {
  const [header = ""] = file.split("\r\n", 1)
  return type === "text/csv" ? [type, header] : [type]
}

/** Whether two answers of a route have the same names, and the first is one that it can give. */
function isSame(route: Route, was: unknown, is: unknown): boolean {
  if (JSON.stringify(namesIn(was)) !== JSON.stringify(namesIn(is))) return false
  if (route.fileTypes === undefined) return route.reply.safeParse(was).success
  return formOf(was as ShownFile).join() === formOf(is as ShownFile).join()
}

const asked = await askAll(world)
if (isWriting) await writeAnew()
const shown = JSON.parse(await readFile(EXAMPLE_ANSWERS_FILE, "utf8")) as ExampleAnswers

const EACH = PROGRAM.routes.flatMap((route) =>
  statusesOf(route).map((status) => [route.name, status, route] as const),
)

describe("the answer that is shown", () => {
  it.for(EACH)("of %s with %i is one that is given", ([name, status, route]) => {
    const is = asked[name]?.[status]
    const way = `put "${name} ${status}" into ANSWER_SCENARIOS of route-scenarios.ts in its slice's tests`
    expect(is, `nothing led to it: ${way}`).toBeDefined()
    const was = shown[name]?.[status]
    expect(was, HOW).toBeDefined()
    expect(namesIn(was), HOW).toEqual(namesIn(is))
    if (route.fileTypes === undefined) expect(route.reply.parse(was), HOW).toEqual(was)
    else expect(formOf(was as ShownFile), HOW).toEqual(formOf(is as ShownFile))
  })

  it("is of a route that is there", () => {
    const names = new Set(PROGRAM.routes.map((route) => route.name))
    expect(Object.keys(shown).filter((name) => !names.has(name))).toEqual([])
  })

  it("lists something where a list is answered, and holds nobody's key", () => {
    const empty = Object.entries(shown).flatMap(([name, byStatus]) =>
      Object.values(byStatus).flatMap((body) =>
        Object.entries(body as object)
          .filter(([, value]) => Array.isArray(value) && value.length === 0)
          .map(([list]) => `${name} ${list}`),
      ),
    )
    // Nobody can be brought so far; a box that starts, or has ended, has no open port.
    const ofBoxes = ["startBox previews", "stopBox previews"]
    // One that was connected just now leads to no app; there is nothing to warn of; everybody has a mail.
    const ofDomains = ["connectDomain appAddresses", "connectDomain warnings", "getDomain warnings"]
    const ofMails = ["sendEmail queued", "sendEmail bounced"]
    const known = ["readAffiliate referrals", ...ofBoxes, ...ofDomains, ...ofMails]
    expect(empty.toSorted()).toEqual(known.toSorted())
    expect(JSON.stringify(shown)).not.toMatch(/cpk_\w/)
  })

  it("stands in the document, under its status and its type", () => {
    const { paths } = openApi(PROGRAM.entries, PROGRAM.retiredPaths, "", {
      ...DOCUMENT_EXTRAS,
      answers: shown,
    }) as {
      paths: Record<string, Record<string, { responses: Record<string, { content: object }> }>>
    }
    for (const [name, status, { method, url }] of EACH) {
      const { content = {} } =
        paths[url.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]?.responses[status] ?? {}
      const examples = Object.values(content).flatMap(
        ({ examples: own = {} }: { examples?: object }) => Object.keys(own),
      )
      expect([name, status, examples]).toEqual([name, status, expect.arrayContaining([name])])
    }
  })
})

describe("the request that is shown", () => {
  it("is there for each route that takes one, as it was sent", () => {
    const { paths } = openApi(PROGRAM.entries, PROGRAM.retiredPaths, "") as {
      paths: Record<string, Record<string, { requestBody?: { content: Record<string, object> } }>>
    }
    for (const { method, url, summary, example, body } of PROGRAM.routes) {
      if (body === undefined || typeof example === "function") continue
      const path = url.replaceAll(/:(\w+)/g, "{$1}")
      const { content = {} } = paths[path]?.[method.toLowerCase()]?.requestBody ?? {}
      // Several shapes on one path have an example each, by what they are for.
      const isShape = PROGRAM.entries.some((entry) => isRouteVariants(entry) && entry.url === url)
      const wanted = isShape
        ? { examples: { [summary]: { value: example?.body } } }
        : { example: example?.body }
      expect([url, Object.values(content)[0]]).toMatchObject([url, wanted])
    }
  })
})
