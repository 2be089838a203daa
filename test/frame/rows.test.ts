/** A table of routes is held against routes line by line, also where several share a verb and a path. */
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { route } from "../../src/frame/routes/declare/route.ts"
import { oneOf, routesIn } from "../../src/frame/routes/declare/one-of.ts"
import type { SpecRoute } from "../support/routes-table.ts"
import {
  codesInDocument,
  compared,
  isAbout,
  linesOf,
  nameOfRoute,
  routesOf,
  saidByLine,
  saidByRoute,
  SPEC_ROUTES,
  nameOf,
} from "../support/routes-table.ts"
import { making, shaped, withParams } from "./pretended-routes.ts"

const ROUTES = routesIn([making, shaped, withParams])
const [suggest, details, attach] = shaped.shapes as [
  (typeof ROUTES)[number],
  (typeof ROUTES)[number],
  (typeof ROUTES)[number],
]
const line = { group: "pretended", method: "POST", path: shaped.url, counted: true } as const
const SUGGEST: SpecRoute = {
  ...line,
  operation: "lookup.address.suggest",
  body: "action: suggest",
  limit: "paid",
}
const DETAILS: SpecRoute = {
  ...line,
  operation: "lookup.address.details",
  body: "action: details",
  account: "managed",
}
const ATTACH: SpecRoute = { ...line, operation: "dns.domains.attach", body: "{domain}" }
const MAKING: SpecRoute = { ...line, path: making.url, operation: "sandbox.read" }
const READING: SpecRoute = { ...MAKING, method: "GET", path: withParams.url }
const LINES = [MAKING, SUGGEST, DETAILS, ATTACH, READING]

const own = { personKey: false, isBeyond: false }

describe("lines of one verb and path", () => {
  it("have each the route that is meant", () => {
    expect(compared(LINES, ROUTES)).toEqual({ missing: [], unknown: [], twice: [] })
    const found = [SUGGEST, DETAILS, ATTACH].map((spec) => routesOf(spec, ROUTES))
    expect(found).toEqual([[suggest], [details], [attach]])
    for (const one of ROUTES) {
      const lines = linesOf(one, LINES).map((spec) => saidByLine(spec, own))
      expect(lines, nameOfRoute(one, ROUTES)).toEqual([saidByRoute(one)])
    }
  })

  it("are built one by one: a shape that is missing is no other's", () => {
    const { missing, unknown } = compared(LINES, [making, withParams, suggest, attach])
    expect([missing.map(nameOf), unknown]).toEqual([
      ["POST /api/v1/pretended/shaped with action: details"],
      [],
    ])
  })

  it("show a shape that has no line, and one that is there twice", () => {
    const { unknown, missing } = compared([MAKING, SUGGEST, ATTACH, READING], ROUTES)
    expect([unknown, missing]).toEqual([[details], []])
    const again = route({ ...details, summary: "Details again" })
    expect(compared(LINES, [...ROUTES, again]).twice).toEqual([
      "POST /api/v1/pretended/shaped with action: details",
    ])
  })

  it("say something else where a shape does, and only there", () => {
    const other = route({ ...details, operation: "lookup.address.suggest" })
    const { shapes } = oneOf(shaped.name, shaped.url, [suggest, other, attach])
    const differing = shapes.filter((one) => {
      const [spec] = linesOf(one, LINES)
      return spec?.operation !== saidByRoute(one).operation
    })
    expect(differing).toEqual([other])
  })

  it("without a body are of one route alone", () => {
    const { body: _none, ...plain } = ATTACH
    const name = "POST /api/v1/pretended/shaped"
    expect(compared([MAKING, READING, plain], ROUTES).twice).toEqual([name])
  })

  it("have their own errors in the document", () => {
    expect(codesInDocument(suggest)).toContain("rate_limited")
    expect(codesInDocument(details)).not.toContain("rate_limited")
    expect(codesInDocument(details)).toContain("needs_managed_plan")
    expect(codesInDocument(attach)).not.toContain("needs_managed_plan")
  })

  it("have names of their own, and so have their routes", () => {
    expect(shaped.shapes.map((one) => nameOfRoute(one, ROUTES))).toEqual([
      "POST /api/v1/pretended/shaped (Suggest)",
      "POST /api/v1/pretended/shaped (Details)",
      "POST /api/v1/pretended/shaped (Attach)",
    ])
  })
})

describe("the specification's lines of one verb and path", () => {
  const alike = Map.groupBy(
    SPEC_ROUTES.filter(({ method }) => method !== "GIT"),
    ({ method, path }) => `${method} ${path}`,
  )
  const several = [...alike].filter(([, lines]) => lines.length > 1)

  /** A body as a line names it, as the route of its slice will have it. */
  const BODIES = {
    "{domain}": z.object({ domain: z.string() }),
    "{check: true}": z.object({ domain: z.string(), check: z.literal(true) }),
  } as const
  const bodyOf = (named: string) => {
    const [, action] = /^action: (\w+)$/.exec(named) ?? []
    if (action !== undefined) {
      return z.object({ action: z.literal(action), domain: z.string(), type: z.string() })
    }
    return BODIES[named as keyof typeof BODIES]
  }

  it("are eleven", () => {
    expect(several.map(([name, lines]) => [name, lines.length])).toEqual([
      ["POST /api/v1/email/domains", 2],
      ["POST /api/v1/domain", 7],
      ["POST /api/v1/places", 2],
    ])
  })

  it.for(several)("are told apart: %s", ([, lines]) => {
    const routes = lines.map((spec) =>
      route({ ...making, url: spec.path, summary: nameOf(spec), body: bodyOf(spec.body ?? "") }),
    )
    for (const [i, spec] of lines.entries()) {
      expect(routes.map((one) => isAbout(spec, one))).toEqual(routes.map((_one, j) => i === j))
    }
  })
})
