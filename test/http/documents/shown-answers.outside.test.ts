/** The example answers of the document are complete and match the server's answers. */
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

/** Things are created before they are read and deleted last. */
const ORDER: readonly Route["method"][] = ["POST", "PUT", "PATCH", "GET", "DELETE"]

/** Collects the answers of all routes, by name and status. Deletes the company at the end. */
async function collectAnswers(world: World): Promise<ExampleAnswers> {
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
  // Example ids do not exist; the slices' scenarios use ids of things that they create.
  const scenarios = await allAnswerScenarios()
  const needsScenario = ({ name, url, statuses = [200] }: Route) =>
    url.includes("/:") || statuses.every((status) => `${name} ${status}` in scenarios)
  for (const route of routes.filter((one) => last(one) === 0 && !needsScenario(one))) {
    take(route.name, await sendExample(world, company, route))
  }
  for (const [name, ask] of Object.entries(scenarios)) {
    const [route = "", status] = name.split(" ")
    const answer = await ask(world, company)
    expect(`${route} ${answer.status}`).toBe(`${route} ${status}`)
    take(route, answer)
  }
  for (const route of routes.filter((one) => last(one) === 1)) {
    take(route.name, await sendExample(world, company, route))
  }
  return answers
}

async function makeAcme(world: World): Promise<Company> {
  const company = await makeCompany(world, {
    name: "Acme",
    ownerName: "Ada Lovelace",
    ownerEmail: "ada@example.com",
    key: { addFundsPerPurchase: "25", addFundsPerMonth: "100" },
  })
  const invited = { email: "grace@example.com", role: "developer" }
  await world.operate("person invite", { company: company.companyId, ...invited })
  // The sender domain of its mails.
  await addVerifiedDomain(world.ports, company.companyId, "acme.example")
  return company
}

/** Sends a route's example request, including the parts that other tests omit. */
async function sendExample(world: World, company: Company, route: Route): Promise<ApiAnswer> {
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

/** An answer with only the largest entry of each list, and without API keys. */
function shortened(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll(/\bcpk_\w+/g, "cpk_…")
  if (typeof value !== "object" || value === null) return value
  if (!Array.isArray(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]))
  }
  if (value.every((one) => typeof one !== "object")) return value.map(shortened)
  const [fullest] = value.toSorted((a, b) => countValues(b) - countValues(a))
  return [shortened(fullest)]
}

function countValues(value: unknown): number {
  if (typeof value !== "object") return 1
  return Object.values(value ?? {}).reduce((sum: number, one: unknown) => sum + countValues(one), 0)
}

/** Set by `npm run answers`. */
const isWriting = process.env["LEDGER_WRITE_ANSWERS"] === "1"
const HOW = "run `npm run answers`"

// A world of its own, because an answer shows a number that only one company can buy.
const world = await ownWorld("store", { rateLimits: "off" })

/** Updates the answers in the file that no longer match and keeps the others. */
async function updateFile(): Promise<void> {
  const updated = PROGRAM.routes.map((route) => {
    const { name } = route
    const byStatus = statusesOf(route).map((status) => {
      const shownAnswer = DOCUMENT_EXTRAS.answers[name]?.[status]
      const actual = received[name]?.[status]
      return [status, hasSameForm(route, shownAnswer, actual) ? shownAnswer : actual] as const
    })
    return [name, Object.fromEntries(byStatus)] as const
  })
  await writeFile(EXAMPLE_ANSWERS_FILE, `${JSON.stringify(Object.fromEntries(updated), null, 2)}\n`)
}

const statusesOf = ({ statuses = [200], bodilessStatuses = [] }: Route): readonly number[] =>
  statuses.filter((status) => !bodilessStatuses.includes(status))

/** The field names of an answer, including those of list entries. */
function namesIn(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return null
  if (Array.isArray(value)) return value.map(namesIn)
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, namesIn(one)]))
}

/** An example file: its type, and its content if it is text. */
interface ShownFile {
  readonly type: string
  readonly file: string
}

/** The form of a file: its type and, for CSV, the names of its columns. */
function formOf({ type, file }: ShownFile): readonly string[] {
  const [header = ""] = file.split("\r\n", 1)
  return type === "text/csv" ? [type, header] : [type]
}

/** Whether a shown answer is valid and has the field names of the actual one. */
function hasSameForm(route: Route, shownAnswer: unknown, actual: unknown): boolean {
  if (JSON.stringify(namesIn(shownAnswer)) !== JSON.stringify(namesIn(actual))) return false
  if (route.fileTypes === undefined) return route.reply.safeParse(shownAnswer).success
  return formOf(shownAnswer as ShownFile).join() === formOf(actual as ShownFile).join()
}

const received = await collectAnswers(world)
if (isWriting) await updateFile()
const shown = JSON.parse(await readFile(EXAMPLE_ANSWERS_FILE, "utf8")) as ExampleAnswers

const EACH = PROGRAM.routes.flatMap((route) =>
  statusesOf(route).map((status) => [route.name, status, route] as const),
)

describe("the example answer", () => {
  it.for(EACH)("of %s with %i has the form of the actual answer", ([name, status, route]) => {
    const actual = received[name]?.[status]
    const way = `add "${name} ${status}" to ANSWER_SCENARIOS of route-scenarios.ts in its slice's tests`
    expect(actual, `no request got this answer: ${way}`).toBeDefined()
    const example = shown[name]?.[status]
    expect(example, HOW).toBeDefined()
    expect(namesIn(example), HOW).toEqual(namesIn(actual))
    if (route.fileTypes === undefined) expect(route.reply.parse(example), HOW).toEqual(example)
    else expect(formOf(example as ShownFile), HOW).toEqual(formOf(actual as ShownFile))
  })

  it("belongs to an existing route", () => {
    const names = new Set(PROGRAM.routes.map((route) => route.name))
    expect(Object.keys(shown).filter((name) => !names.has(name))).toEqual([])
  })

  it("has no empty lists and no API keys", () => {
    const empty = Object.entries(shown).flatMap(([name, byStatus]) =>
      Object.values(byStatus).flatMap((body) =>
        Object.entries(body as object)
          .filter(([, value]) => Array.isArray(value) && value.length === 0)
          .map(([list]) => `${name} ${list}`),
      ),
    )
    // A referral takes longer than a test; a box that starts or has ended has no open port.
    const ofBoxes = ["startBox previews", "stopBox previews"]
    // A new domain leads to no app and has no warnings; the mail is delivered to every recipient.
    const ofDomains = ["connectDomain appAddresses", "connectDomain warnings", "getDomain warnings"]
    const ofMails = ["sendEmail queued", "sendEmail bounced"]
    const known = ["readAffiliate referrals", ...ofBoxes, ...ofDomains, ...ofMails]
    expect(empty.toSorted()).toEqual(known.toSorted())
    expect(JSON.stringify(shown)).not.toMatch(/cpk_\w/)
  })

  it("is in the document, under its status and content type", () => {
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

describe("the example request", () => {
  it("is in the document for each route with a body, as it was sent", () => {
    const { paths } = openApi(PROGRAM.entries, PROGRAM.retiredPaths, "") as {
      paths: Record<string, Record<string, { requestBody?: { content: Record<string, object> } }>>
    }
    for (const { method, url, summary, example, body } of PROGRAM.routes) {
      if (body === undefined || typeof example === "function") continue
      const path = url.replaceAll(/:(\w+)/g, "{$1}")
      const { content = {} } = paths[path]?.[method.toLowerCase()]?.requestBody ?? {}
      // Route variants of one path have an example each, named by their summary.
      const isVariant = PROGRAM.entries.some((entry) => isRouteVariants(entry) && entry.url === url)
      const expected = isVariant
        ? { examples: { [summary]: { value: example?.body } } }
        : { example: example?.body }
      expect([url, Object.values(content)[0]]).toMatchObject([url, expected])
    }
  })
})
