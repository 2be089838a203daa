/** The charge of a killed process that was sent, and arrives while its request is carried out again. */
import { beforeEach, expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { SEGMENT, TEXTS, chargesOf, fundsOf, newNumber } from "../phone/texting.ts"
import type { ApiAnswer, Company } from "../support/world.ts"
import { callApp, makeCompany, sharedWorld } from "../support/world.ts"
import type { OnItsWay } from "./begun.ts"
import { claimOf, dieAt, newIdempotencyKey, rightBeforeEntry } from "./begun.ts"

const world = await sharedWorld({ calls: "free" })
let company: Company
let sent: OnItsWay
let idempotencyKey: string
let request: { readonly body: object; readonly headers: Record<string, string> }

beforeEach(async () => {
  company = await makeCompany(world)
  idempotencyKey = newIdempotencyKey()
  const body = { to: newNumber(), body: "Hello" }
  request = { body, headers: { "idempotency-key": idempotencyKey } }
})

/** A process is killed that has sent the charge of the request, and no answer. */
const kill = async (): Promise<void> => {
  const { body } = request
  const asked = { key: company.key, url: TEXTS, body, idempotencyKey }
  sent = await dieAt(world, { step: "Charge", when: "before" }, asked)
}
const again = (): Promise<ApiAnswer> => world.call(company.key, "POST", TEXTS, request)

/** One text was sent for one charge, and nothing is open. */
async function expectOnePaid(): Promise<void> {
  await world.operate("wait")
  expect(await chargesOf(world, company)).toEqual([{ micros: SEGMENT, state: "final" }])
  expect(await fundsOf(world, company)).toBe(50_000_000 - SEGMENT)
  const { checks } = await world.operate("audit verify", { company: company.companyId })
  expect(checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
}

it("is no limit to its own request, where it arrives behind the look for it", async () => {
  const limit = { company: company.companyId, class: "general", period: "month" }
  await world.operate("limit set", { ...limit, dollars: "0.009" })
  await kill()
  const ports = rightBeforeEntry(world, sent.arrive)
  const app = await buildApp(ports, PROGRAM.entries, PROGRAM.retired)
  const taken = await callApp(app, company.key, "POST", TEXTS, request)
  await app.close()
  expect([taken.status, taken.body.status]).toEqual([200, "queued"])
  const replayed = await again()
  expect([replayed.body, replayed.headers["idempotency-replayed"]]).toEqual([taken.body, "true"])
  await expectOnePaid()
})

it("is found by the same request, where it arrives behind a refusal", async () => {
  await kill()
  await world.operate("card remove", { company: company.companyId })
  expect((await again()).status).toBe(402)
  expect(await claimOf(world, idempotencyKey)).toEqual({ state: "running", attempt: 0 })
  await sent.arrive()
  expect((await again()).status).toBe(200)
  await expectOnePaid()
})

it("is nobody's refusal, where it never arrives: the limit of others refuses, and no more", async () => {
  const limit = { company: company.companyId, class: "general", period: "month" }
  await world.operate("limit set", { ...limit, dollars: "0.009" })
  await kill()
  const other = { body: { to: newNumber(), body: "Hello" } }
  expect((await world.call(company.key, "POST", TEXTS, other)).status).toBe(200)
  const refused = await again()
  expect([refused.status, refused.body.error]).toEqual([429, "spend_limit_reached"])
  await world.operate("limit set", { ...limit, dollars: "1" })
  expect((await again()).status).toBe(200)
  await world.operate("wait")
  expect(await fundsOf(world, company)).toBe(50_000_000 - 2 * SEGMENT)
})
