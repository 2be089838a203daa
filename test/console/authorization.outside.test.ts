/** Authorization of every console call, for every kind of visitor. */
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
const visitors = await consoleVisitorsOf(world, company)
// Some operations remove the card.
beforeEach(() => world.operate("card set", { company: company.companyId, verified: true }))

const urlOf = (rest: string) => `/console/${company.companyId}${rest}`

const REJECTION_CODES = new Set(["signed_out", "not_allowed", "other_site", "role", "invalid_key"])
/** Offered only if the payment processor has pages of its own; the simulator has none. */
const PROCESSOR_OPERATIONS = ["card-refresh", "card-page"]
const SIGNED_OUT = "401 signed_out"
const NOT_ALLOWED = "403 not_allowed"

function outcomeOf(name: string, { status, body }: BrowserAnswer): string {
  const error = (body as { readonly error?: string }).error ?? ""
  expect(status === 500, `${name}: ${JSON.stringify(body)}`).toBe(false)
  return REJECTION_CODES.has(error) ? `${status} ${error}` : "accepted"
}

function callOperation(
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
    return browser.send("POST", urlOf(`/files/${operation}?${query}`), undefined, {
      bytes,
      headers,
    })
  }
  const reason = row.takesReason ? { reason: "a test" } : {}
  return browser.send("POST", urlOf(`/operations/${operation}`), { input, ...reason })
}

const mayCall = (
  { allowed }: OperationAccess,
  { role, held }: NonNullable<ConsoleVisitor["membership"]>,
): boolean => (typeof allowed === "string" ? held.includes(allowed) : allowed.includes(role))

describe("the operations of the console", () => {
  const offered = PROGRAM.operations.filter((one) => one.consoleAccess !== undefined)

  it("have exactly one row each", () => {
    expect(Object.keys(OPERATION_ACCESS).toSorted()).toEqual(
      offered.map(({ name }) => operationSlug(name)).toSorted(),
    )
  })

  it("accept exactly the visitors that their rows allow", async () => {
    const actual: Record<string, string> = {}
    const expected: Record<string, string> = {}
    for (const { name, personId, browser, membership } of visitors) {
      for (const [operation, row] of Object.entries(OPERATION_ACCESS)) {
        const attempt = `${operation} by ${name}`
        actual[attempt] = outcomeOf(
          attempt,
          await callOperation(browser, operation, row, { ...ids, me: personId }),
        )
        expected[attempt] =
          membership === null ? SIGNED_OUT : mayCall(row, membership) ? "accepted" : NOT_ALLOWED
      }
    }
    expect(actual).toEqual(expected)
  }, 300_000)

  it("are listed with the visitor's access to each", async () => {
    for (const { name, browser, membership } of visitors) {
      const { status, body } = await browser.get(urlOf("/operations"))
      if (membership === null) {
        expect([name, status]).toEqual([name, 401])
        continue
      }
      const shown = body.operations as readonly { readonly name: string; readonly may: string }[]
      const offeredHere = Object.entries(OPERATION_ACCESS).filter(
        ([operation]) => !PROCESSOR_OPERATIONS.includes(operation),
      )
      const expected = offeredHere.map(([operation, row]) => {
        const rest = row.isOwn ? "own" : "no"
        return [operation, mayCall(row, membership) ? "all" : rest]
      })
      expect(Object.fromEntries(shown.map((one) => [one.name, one.may]))).toEqual(
        Object.fromEntries(expected),
      )
    }
  })

  it("do not include operations without console access", async () => {
    const owner = visitors.find(({ name }) => name === "role owner")?.browser as HttpBrowser
    for (const { name, consoleAccess: word } of PROGRAM.operations) {
      if (word !== undefined) continue
      const answer = await owner.send("POST", urlOf(`/operations/${operationSlug(name)}`), {
        input: {},
      })
      expect([name, answer.status]).toEqual([name, 404])
    }
  })
})

describe("the API called with a session", () => {
  const needs = GRANTABLE_OPERATIONS as Readonly<
    Record<string, Permission | "owner" | "any person">
  >
  const consoleRoutes = routesIn(apiEntriesOf(PROGRAM.entries))
  const specOf = new Map(
    ALL_ROUTES.flatMap((spec) => routesOfSpec(spec, PROGRAM.routes).map((one) => [one.name, spec])),
  )

  function mayAsk(
    spec: SpecRoute,
    { role, held }: NonNullable<ConsoleVisitor["membership"]>,
  ): boolean {
    if (spec.roles !== undefined && !spec.roles.includes(role)) return false
    const required =
      spec.operation === null ? "any person" : (needs[spec.operation] ?? "any person")
    if (required === "owner" && role !== "owner") return false
    const named = required === "owner" || required === "any person" ? [] : [required]
    return [...named, ...(spec.permissions ?? [])].every((one) => held.includes(one))
  }

  it("includes every route of the specification's table that requires a key", () => {
    // Routes with their own error format serve AI clients, which have keys.
    const notInConsole = PROGRAM.routes.filter(
      (one) => one.auth === false || one.errorFormat !== undefined,
    )
    const missing = PROGRAM.routes.filter(
      (one) => !notInConsole.includes(one) && !consoleRoutes.includes(one),
    )
    expect(missing).toEqual([])
    expect(consoleRoutes.filter(({ name }) => !specOf.has(name)).map(({ name }) => name)).toEqual(
      [],
    )
  })

  it("accepts exactly the visitors whose key it would accept", async () => {
    const actual: Record<string, string> = {}
    const expected: Record<string, string> = {}
    // Keys and sessions need the same permissions; test/api/authorization tries each permission separately.
    const byRole = visitors.filter(({ name }) => !name.startsWith("permission "))
    for (const { name, browser, membership } of byRole) {
      for (const route of consoleRoutes) {
        const spec = specOf.get(route.name) as SpecRoute
        const { path, query, body, headers } = validRequest(route)
        const attempt = `${route.name} by ${name}`
        const answer = await browser.send(route.method, urlOf(`${path}${query}`), body, { headers })
        actual[attempt] = outcomeOf(attempt, answer)
        const isBySession = !KEY_ONLY_ROUTES.includes(route.name)
        const refused = `403 ${spec.roleRefusal ?? "not_allowed"}`
        expected[attempt] =
          membership === null
            ? SIGNED_OUT
            : mayAsk(spec, membership) && isBySession
              ? "accepted"
              : refused
      }
    }
    expect(actual).toEqual(expected)
  }, 300_000)

  it("is not counted as API calls, and charges name the person", async () => {
    const owner = visitors.find(({ name }) => name === "role owner")?.browser as HttpBrowser
    const text = { to: "+14155550123", body: "Hello" }
    const sent = await owner.send("POST", urlOf("/api/v1/phone/messages"), text)
    expect(sent.status).toBe(200)
    const { counts } = await world.operate("calls list", { company: company.companyId })
    expect(counts).toEqual([])
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

  it("reject visitors without a session if their rows require one", async () => {
    for (const { name, browser, membership } of visitors) {
      for (const { name: page, method, url } of pages) {
        if (CONSOLE_CALL_ACCESS[page] !== "session") continue
        const path = url.replace(":company", company.companyId)
        const { status } = await browser.send(method, path, method === "POST" ? {} : undefined)
        expect([page, name, status]).toEqual([page, name, membership === null ? 401 : 200])
      }
    }
  })
})
