import { entryAt } from "../support/right-requests.ts"
import { PROGRAM } from "../../src/slices.ts"
import { describe, expect, it } from "vitest"
import { OPERATIONS, OPERATIONS_WITHOUT_ROUTE } from "../../domain/access/operations.ts"
import { RATE_LIMITS } from "../../src/frame/calls/rate-limits.ts"
import {
  ALL_ROUTES,
  BEYOND_LIMITS,
  BEYOND_ROUTES,
  GRANTABLE,
  SPEC_ROUTES,
  WITHOUT_ROUTE,
  isBuilt,
  isOtherVerb,
  isRetired,
  nameOf,
  takesOwnKey,
} from "../support/routes-table.ts"
import {
  codesInDocument,
  compared,
  linesOf,
  nameOfRoute,
  routesOf,
  saidByLine,
  saidByRoute,
} from "../support/route-rows.ts"

/** What is not built yet, group by group. The list only ever gets shorter. */
const NOT_BUILT: Readonly<Record<string, readonly string[]>> = {
  code: ["GIT code.pull", "GIT code.push"],
}

describe("the table of routes", () => {
  const served = ALL_ROUTES.filter((spec) => !isRetired(spec) && !isOtherVerb(spec))
  const { missing, unknown, twice } = compared(served, PROGRAM.routes)

  it("is built but for what is listed as not built, name by name", () => {
    const byGroup = Map.groupBy(missing, ({ group }) => group)
    const names = [...byGroup].map(([group, lines]) => [group, lines.map(nameOf)] as const)
    expect(Object.fromEntries(names)).toEqual(NOT_BUILT)
  })

  it("has every route that is built, or the table of those beyond the specification", () => {
    expect(unknown.map((route) => nameOfRoute(route, PROGRAM.routes))).toEqual([])
  })

  it("has no line with two routes, and no route with two lines", () => {
    expect(twice).toEqual([])
  })

  it.for(PROGRAM.routes.map((route) => [nameOfRoute(route, PROGRAM.routes), route] as const))(
    "says the same of %s",
    ([, route]) => {
      const wanted = linesOf(route, ALL_ROUTES).map((spec) =>
        saidByLine(spec, {
          personKey: takesOwnKey(spec),
          isBeyond: BEYOND_ROUTES.includes(spec),
        }),
      )
      expect([saidByRoute(route)]).toEqual(wanted)
    },
  )

  it("has no route of its own that is beyond the specification and not built or not said so", () => {
    const found = BEYOND_ROUTES.map((spec) => [nameOf(spec), isBuilt(spec)])
    expect(found).toEqual(BEYOND_ROUTES.map((spec) => [nameOf(spec), true]))
    const said = PROGRAM.routes.filter(({ beyondSpec }) => beyondSpec !== undefined)
    const lines = said.flatMap((route) => linesOf(route, ALL_ROUTES))
    expect(lines.map(nameOf).toSorted()).toEqual(BEYOND_ROUTES.map(nameOf).toSorted())
  })

  it("has no route for a verb that is refused, and one for another verb there", () => {
    const refused = ALL_ROUTES.filter(isOtherVerb).map(({ method, path }) => {
      const verbs = PROGRAM.routes.filter(({ url }) => url === path).map((route) => route.method)
      return [path, verbs.length > 0, verbs.some((verb) => verb === method)]
    })
    expect(refused).toEqual([["/api/v1/mcp", true, false]])
  })

  it("has its retired routes", () => {
    expect(PROGRAM.retired.toSorted()).toEqual(
      SPEC_ROUTES.filter(isRetired)
        .map(({ path }) => path)
        .toSorted(),
    )
  })
})

describe("the rate limits", () => {
  it("are those that the table names, with the figures of the specification", () => {
    const named = new Set(ALL_ROUTES.flatMap(({ limit }) => limit ?? []))
    // Those of sign-in codes are of pages.
    const limits = Object.values(RATE_LIMITS).filter(({ name }) => !name.startsWith("codes"))
    expect([...named].toSorted()).toEqual(limits.map(({ name }) => name).toSorted())
    const figures = limits.map(({ name, most, per }) => [name, most, per])
    expect(figures).toEqual([
      ["paid", 120, "key"],
      ["number search", 10, "company"],
      ["domain", 6, "company"],
      ["connect", 10, "address"],
      ...Object.entries(BEYOND_LIMITS).map(([name, own]) => [name, ...own]),
    ])
  })
})

describe("the errors of the table", () => {
  const withErrors = ALL_ROUTES.filter((spec) => spec.errors !== undefined)
  const built = withErrors.flatMap((spec) =>
    routesOf(spec, PROGRAM.routes).map((route) => [nameOf(spec), spec, route] as const),
  )

  it.for(built)("are all in the document of %s", ([, { errors }, route]) => {
    // Several shapes on one path are one in the table and in the document.
    const entry = entryAt(PROGRAM.entries, route.method, route.url) ?? route
    const codes = codesInDocument(entry)
    expect(errors?.filter((code) => !codes.includes(code))).toEqual([])
  })
})

describe("the table of operations", () => {
  it("says what each operation needs", () => {
    expect(OPERATIONS).toEqual(GRANTABLE)
  })

  it("names those that cannot be granted", () => {
    expect(OPERATIONS_WITHOUT_ROUTE).toEqual(WITHOUT_ROUTE)
  })

  it("has the operation of every line of the table of routes", () => {
    const named = new Set(ALL_ROUTES.flatMap(({ operation }) => operation ?? []))
    expect([...named].toSorted()).toEqual(Object.keys(GRANTABLE).toSorted())
  })
})
