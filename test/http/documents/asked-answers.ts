/**
 * What every route answers when it is asked as its example shows, by a company of which there is
 * something to show: each slice's `readings.ts` writes what its routes that read show.
 */
import { expect } from "vitest"
import type { Answers } from "../../../src/frame/http/documents/document-answers.ts"
import type { Route } from "../../../src/frame/calls/route.ts"
import { PROGRAM } from "../../../src/slices.ts"
import { addVerified } from "../../email/mailing.ts"
import { allOtherAnswers } from "../../support/other-answers.ts"
import { allReadings } from "../../support/readings.ts"
import { rightRequest } from "../../support/right-requests.ts"
import type { ApiAnswer, Company, World } from "../../support/world.ts"

/** What is made comes before what is read, and what is taken away behind it. */
const ORDER: readonly Route["method"][] = ["POST", "PUT", "PATCH", "GET", "DELETE"]

/** The answers of all routes, by name and status. The company that is asked for is deleted at the end. */
export async function askAll(world: World): Promise<Answers> {
  const company = await makeAcme(world)
  const answers: Record<string, Record<string, unknown>> = {}
  const take = (name: string, { status, headers, body }: ApiAnswer) => {
    const type = String(headers["content-type"]).split(";", 1)[0] as string
    const file = type.startsWith("text/") ? (body as unknown) : "…"
    const shown = type === "application/json" ? shortened(body) : { type, file }
    answers[name] = { ...answers[name], [status]: shown }
  }
  for (const { write } of Object.values(await allReadings())) await write(world, company)
  const last = (route: Route) =>
    Number(typeof route.example === "object" && "leavesOut" in route.example)
  const routes = PROGRAM.routes.toSorted(
    (a, b) => last(a) - last(b) || ORDER.indexOf(a.method) - ORDER.indexOf(b.method),
  )
  // What an example names is made up: the slice's tests ask for one that is there.
  const others = await allOtherAnswers()
  const isNamed = ({ name, url, success = [200] }: Route) =>
    url.includes("/:") || success.every((status) => `${name} ${status}` in others)
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
  const { companyId, ownerId } = await world.operate("company create", {
    name: "Acme",
    funds: "50",
    ownerName: "Ada Lovelace",
    ownerEmail: "ada@example.com",
  })
  await world.operate("card set", { company: companyId, verified: true })
  await world.operate("person invite", {
    company: companyId,
    email: "grace@example.com",
    role: "developer",
  })
  const { keyId, key } = await world.operate("key create", {
    company: companyId,
    person: ownerId,
    allOperations: true,
    addFundsPerPurchase: "25",
    addFundsPerMonth: "100",
  })
  // What its mails are from.
  await addVerified(world.ports, companyId, "acme.example")
  return { companyId, ownerId, keyId, key }
}

/** Sends what the route's example shows, whatever tests leave out of it. */
async function asShown(world: World, company: Company, route: Route): Promise<ApiAnswer> {
  await world.operate("wait")
  const at = world.ports.clock.now()
  const { path, query, headers } = rightRequest(route, at)
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
