/** Who is let in where in the console: every call of it, and everybody who may come. */
import { beforeEach, describe, expect, it } from "vitest"
import type { Permission } from "../../domain/access/permissions.ts"
import { routesIn } from "../../src/frame/routes/declare/route-variants.ts"
import { apiEntriesOf } from "../../src/frame/http/router-entries.ts"
import { operationSlug } from "../../src/frame/operator/protocol.ts"
import { consoleSlice } from "../../src/console/slice.ts"
import { PROGRAM } from "../../src/slices.ts"
import { validRequest } from "../support/api-contract.ts"
import {
  type SpecRoute,
  routesOfSpec,
  ALL_ROUTES,
  GRANTABLE_OPERATIONS,
} from "../support/routes-table.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import type { BrowserAnswer, HttpBrowser } from "./http-browser.ts"
import { type ConsoleVisitor, consoleVisitorsOf, makeConsoleThings } from "./console-visitors.ts"
import {
  type SampleIds,
  type OperationAccess,
  KEY_ONLY_ROUTES,
  CONSOLE_CALL_ACCESS,
  OPERATION_ACCESS,
} from "./operation-access.ts"

const world = await sharedWorld({ rateLimits: "off" })
const company = await makeCompany(world, { funds: "5000" })
const ids = await makeConsoleThings(world, company)
const comers = await consoleVisitorsOf(world, company)
// What one of them may take away, such as the card.
beforeEach(() => world.operate("card set", { company: company.companyId, verified: true }))

const at = (rest: string, of: string = company.companyId) => `/console/${of}${rest}`

const REFUSED = new Set(["signed_out", "not_allowed", "other_site", "role", "invalid_key"])
/** They are there where the payment processor has pages of its own: the built-in one has none. */
const AT_PROCESSOR = ["card-refresh", "card-page"]
const NOBODY = "401 signed_out"
const NOT_ALLOWED = "403 not_allowed"

function outcomeOf(name: string, { status, body }: BrowserAnswer): string {
  const error = (body as { readonly error?: string }).error ?? ""
  expect(status === 500, `${name}: ${JSON.stringify(body)}`).toBe(false)
  return REFUSED.has(error) ? `${status} ${error}` : "let in"
}

function ask(
  browser: HttpBrowser,
  operation: string,
  row: OperationAccess,
  given: SampleIds,
): Promise<BrowserAnswer> {
  const input = row.input(given)
  if (row.takesFile) {
    const query = new URLSearchParams(input as Record<string, string>).toString()
    const bytes = Buffer.from("no bundle")
    const headers = { "content-type": "application/octet-stream" }
    return browser.send("POST", at(`/files/${operation}?${query}`), undefined, { bytes, headers })
  }
  const reason = row.takesReason ? { reason: "a test" } : {}
  return browser.send("POST", at(`/operations/${operation}`), { input, ...reason })
}

const mayDo = (
  { allowed }: OperationAccess,
  { role, held }: NonNullable<ConsoleVisitor["membership"]>,
): boolean => (typeof allowed === "string" ? held.includes(allowed) : allowed.includes(role))

describe("the operations of the console", () => {
  const offered = PROGRAM.operations.filter((one) => one.consoleAccess !== undefined)

  it("each have a row, and no row is of another", () => {
    expect(Object.keys(OPERATION_ACCESS).toSorted()).toEqual(
      offered.map(({ name }) => operationSlug(name)).toSorted(),
    )
  })

  it("let in whom their rows let in, and nobody else", async () => {
    const found: Record<string, string> = {}
    const wanted: Record<string, string> = {}
    for (const { name, personId, browser, membership } of comers) {
      for (const [operation, row] of Object.entries(OPERATION_ACCESS)) {
        const place = `${operation} by ${name}`
        found[place] = outcomeOf(
          place,
          await ask(browser, operation, row, { ...ids, me: personId }),
        )
        wanted[place] =
          membership === null ? NOBODY : mayDo(row, membership) ? "let in" : NOT_ALLOWED
      }
    }
    expect(found).toEqual(wanted)
  }, 300_000)

  it("are shown with who may", async () => {
    for (const { name, browser, membership } of comers) {
      const { status, body } = await browser.get(at("/operations"))
      if (membership === null) {
        expect([name, status]).toEqual([name, 401])
        continue
      }
      const shown = body.operations as readonly { readonly name: string; readonly may: string }[]
      const here = Object.entries(OPERATION_ACCESS).filter(
        ([operation]) => !AT_PROCESSOR.includes(operation),
      )
      const wanted = here.map(([operation, row]) => {
        const rest = row.isOwn ? "own" : "no"
        return [operation, mayDo(row, membership) ? "all" : rest]
      })
      expect(Object.fromEntries(shown.map((one) => [one.name, one.may]))).toEqual(
        Object.fromEntries(wanted),
      )
    }
  })

  it("are for nobody whom no operation names: the operator's own are not there", async () => {
    const owner = comers.find(({ name }) => name === "role owner")?.browser as HttpBrowser
    for (const { name, consoleAccess: word } of PROGRAM.operations) {
      if (word !== undefined) continue
      const answer = await owner.send("POST", at(`/operations/${operationSlug(name)}`), {
        input: {},
      })
      expect([name, answer.status]).toEqual([name, 404])
    }
  })
})

describe("the API by a session", () => {
  const needs = GRANTABLE_OPERATIONS as Readonly<
    Record<string, Permission | "owner" | "any person">
  >
  const reached = routesIn(apiEntriesOf(PROGRAM.entries))
  const specOf = new Map(
    ALL_ROUTES.flatMap((spec) => routesOfSpec(spec, PROGRAM.routes).map((one) => [one.name, spec])),
  )

  function mayAsk(
    spec: SpecRoute,
    { role, held }: NonNullable<ConsoleVisitor["membership"]>,
  ): boolean {
    if (spec.roles !== undefined && !spec.roles.includes(role)) return false
    const own = spec.operation === null ? "any person" : (needs[spec.operation] ?? "any person")
    if (own === "owner" && role !== "owner") return false
    const named = own === "owner" || own === "any person" ? [] : [own]
    return [...named, ...(spec.permissions ?? [])].every((one) => held.includes(one))
  }

  it("reaches every route of the specification's table that asks for a key", () => {
    // AI clients have keys.
    const others = PROGRAM.routes.filter(
      (one) => one.auth === false || one.errorFormat !== undefined,
    )
    const missing = PROGRAM.routes.filter((one) => !others.includes(one) && !reached.includes(one))
    expect(missing).toEqual([])
    expect(reached.filter(({ name }) => !specOf.has(name)).map(({ name }) => name)).toEqual([])
  })

  it("lets in whom a key of theirs would let in, and nobody else", async () => {
    const found: Record<string, string> = {}
    const wanted: Record<string, string> = {}
    // Keys and sessions ask the same of a person: test/api/authorization tries each permission alone.
    const byRole = comers.filter(({ name }) => !name.startsWith("permission "))
    for (const { name, browser, membership } of byRole) {
      for (const route of reached) {
        const spec = specOf.get(route.name) as SpecRoute
        const { path, query, body, headers } = validRequest(route)
        const place = `${route.name} by ${name}`
        const answer = await browser.send(route.method, at(`${path}${query}`), body, { headers })
        found[place] = outcomeOf(place, answer)
        const isBySession = !KEY_ONLY_ROUTES.includes(route.name)
        const refused = `403 ${spec.roleRefusal ?? "not_allowed"}`
        wanted[place] =
          membership === null
            ? NOBODY
            : mayAsk(spec, membership) && isBySession
              ? "let in"
              : refused
      }
    }
    expect(found).toEqual(wanted)
  }, 300_000)

  it("counts nothing, and spends as the person", async () => {
    const owner = comers.find(({ name }) => name === "role owner")?.browser as HttpBrowser
    const text = { to: "+14155550123", body: "Hello" }
    const sent = await owner.send("POST", at("/api/v1/phone/messages"), text)
    expect(sent.status).toBe(200)
    const { counts: tallies } = await world.operate("calls list", { company: company.companyId })
    expect(tallies).toEqual([])
    const { charges } = await world.operate("charge list", { company: company.companyId })
    expect(charges[0]).toMatchObject({ via: "person", keyId: null, personId: company.ownerId })
  })
})

describe("the other calls of the console", () => {
  const pages = (consoleSlice.pages ?? []).flatMap((page) => ("routes" in page ? [] : [page]))

  it("each have a row", () => {
    expect(pages.map(({ name }) => name).toSorted()).toEqual(
      Object.keys(CONSOLE_CALL_ACCESS).toSorted(),
    )
  })

  it("let nobody in without a session where their rows ask for one", async () => {
    for (const { name, browser, membership } of comers) {
      for (const { name: page, method, url } of pages) {
        if (CONSOLE_CALL_ACCESS[page] !== "session") continue
        const path = url.replace(":company", company.companyId)
        const { status } = await browser.send(method, path, method === "POST" ? {} : undefined)
        expect([page, name, status]).toEqual([page, name, membership === null ? 401 : 200])
      }
    }
  })
})
