/** The table of routes is compared with routes line by line, also if several share a verb and a path. */
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { route } from "../../src/frame/routes/declare/route.ts"
import { routeVariants, routesIn } from "../../src/frame/routes/declare/route-variants.ts"
import type { SpecRoute } from "../support/routes-table.ts"
import {
  codesInDocument,
  compareRoutes,
  isSpecOf,
  specsOfRoute,
  routeNameOf,
  routesOfSpec,
  contractOfSpec,
  contractOfRoute,
  SPEC_ROUTES,
  specRouteNameOf,
} from "../support/routes-table.ts"
import { createRoute, shapedRoute, paramsRoute } from "./sample-routes.ts"

const ROUTES = routesIn([createRoute, shapedRoute, paramsRoute])
const [suggest, details, attach] = shapedRoute.variants as [
  (typeof ROUTES)[number],
  (typeof ROUTES)[number],
  (typeof ROUTES)[number],
]
const line = { group: "pretended", method: "POST", path: shapedRoute.url, counted: true } as const
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
const MAKING: SpecRoute = { ...line, path: createRoute.url, operation: "sandbox.read" }
const READING: SpecRoute = { ...MAKING, method: "GET", path: paramsRoute.url }
const LINES = [MAKING, SUGGEST, DETAILS, ATTACH, READING]

const own = { personKey: false, isBeyond: false }

describe("lines of one verb and path", () => {
  it("each have their own route", () => {
    expect(compareRoutes(LINES, ROUTES)).toEqual({ missing: [], unknown: [], twice: [] })
    const found = [SUGGEST, DETAILS, ATTACH].map((spec) => routesOfSpec(spec, ROUTES))
    expect(found).toEqual([[suggest], [details], [attach]])
    for (const one of ROUTES) {
      const lines = specsOfRoute(one, LINES).map((spec) => contractOfSpec(spec, own))
      expect(lines, routeNameOf(one, ROUTES)).toEqual([contractOfRoute(one)])
    }
  })

  it("are built individually: a missing variant is not covered by another", () => {
    const { missing, unknown } = compareRoutes(LINES, [createRoute, paramsRoute, suggest, attach])
    expect([missing.map(specRouteNameOf), unknown]).toEqual([
      ["POST /api/v1/pretended/shaped with action: details"],
      [],
    ])
  })

  it("reveal a variant without a line, and a duplicate one", () => {
    const { unknown, missing } = compareRoutes([MAKING, SUGGEST, ATTACH, READING], ROUTES)
    expect([unknown, missing]).toEqual([[details], []])
    const again = route({ ...details, summary: "Details again" })
    expect(compareRoutes(LINES, [...ROUTES, again]).twice).toEqual([
      "POST /api/v1/pretended/shaped with action: details",
    ])
  })

  it("differ only from the variant that differs", () => {
    const other = route({ ...details, operation: "lookup.address.suggest" })
    const { variants } = routeVariants(shapedRoute.name, shapedRoute.url, [suggest, other, attach])
    const differing = variants.filter((one) => {
      const [spec] = specsOfRoute(one, LINES)
      return spec?.operation !== contractOfRoute(one).operation
    })
    expect(differing).toEqual([other])
  })

  it("without a body match only one route", () => {
    const { body: _none, ...plain } = ATTACH
    const name = "POST /api/v1/pretended/shaped"
    expect(compareRoutes([MAKING, READING, plain], ROUTES).twice).toEqual([name])
  })

  it("have their own errors in the document", () => {
    expect(codesInDocument(suggest)).toContain("rate_limited")
    expect(codesInDocument(details)).not.toContain("rate_limited")
    expect(codesInDocument(details)).toContain("needs_managed_plan")
    expect(codesInDocument(attach)).not.toContain("needs_managed_plan")
  })

  it("have unique names, like their routes", () => {
    expect(shapedRoute.variants.map((one) => routeNameOf(one, ROUTES))).toEqual([
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

  /** Bodies by their name in the table. */
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

  it.for(several)("are distinguished: %s", ([, lines]) => {
    const routes = lines.map((spec) =>
      route({
        ...createRoute,
        url: spec.path,
        summary: specRouteNameOf(spec),
        body: bodyOf(spec.body ?? ""),
      }),
    )
    for (const [i, spec] of lines.entries()) {
      expect(routes.map((one) => isSpecOf(spec, one))).toEqual(routes.map((_one, j) => i === j))
    }
  })
})
