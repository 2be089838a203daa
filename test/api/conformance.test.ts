import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { OPERATIONS, OPERATIONS_WITHOUT_ROUTE } from "../../domain/access/permissions.ts"
import { RATE_LIMITS } from "../../src/frame/routes/checks/rate-limits.ts"
import { PROGRAM } from "../../src/slices.ts"
import { entryAt } from "../support/api-contract.ts"
import {
  ALL_ROUTES,
  EXTRA_LIMITS,
  EXTRA_ROUTES,
  GRANTABLE_OPERATIONS,
  SPEC_ROUTES,
  WITHOUT_ROUTE,
  isBuilt,
  isRejectedVerb,
  isRetired,
  specRouteNameOf,
  isOwnKeyOnly,
  codesInDocument,
  compareRoutes,
  specsOfRoute,
  routeNameOf,
  routesOfSpec,
  contractOfSpec,
  contractOfRoute,
} from "../support/routes-table.ts"
import type { SpecRoute } from "../support/routes-table.ts"

/** Lines without a route yet, by group. The list only gets shorter. */
const NOT_BUILT: Readonly<Record<string, readonly string[]>> = {
  code: ["GIT code.pull", "GIT code.push"],
}

describe("the table of routes", () => {
  const served = ALL_ROUTES.filter((spec) => !isRetired(spec) && !isRejectedVerb(spec))
  const { missing, unknown, twice } = compareRoutes(served, PROGRAM.routes)

  it("is built except for the lines listed as not built", () => {
    const byGroup = Map.groupBy(missing, ({ group }) => group)
    const names = [...byGroup].map(([group, lines]) => [group, lines.map(specRouteNameOf)] as const)
    expect(Object.fromEntries(names)).toEqual(NOT_BUILT)
  })

  it("has every built route, in the specification's table or the table of additions", () => {
    expect(unknown.map((route) => routeNameOf(route, PROGRAM.routes))).toEqual([])
  })

  it("has no line with two routes, and no route with two lines", () => {
    expect(twice).toEqual([])
  })

  it.for(PROGRAM.routes.map((route) => [routeNameOf(route, PROGRAM.routes), route] as const))(
    "agrees with the declaration of %s",
    ([, route]) => {
      const expected = specsOfRoute(route, ALL_ROUTES).map((spec) =>
        contractOfSpec(spec, {
          personKey: isOwnKeyOnly(spec),
          isBeyond: EXTRA_ROUTES.includes(spec),
        }),
      )
      expect([contractOfRoute(route)]).toEqual(expected)
    },
  )

  it("has only additions that are built and declare that they are beyond the specification", () => {
    const found = EXTRA_ROUTES.map((spec) => [specRouteNameOf(spec), isBuilt(spec)])
    expect(found).toEqual(EXTRA_ROUTES.map((spec) => [specRouteNameOf(spec), true]))
    const declared = PROGRAM.routes.filter(({ beyondSpec }) => beyondSpec !== undefined)
    const lines = declared.flatMap((route) => specsOfRoute(route, ALL_ROUTES))
    expect(lines.map(specRouteNameOf).toSorted()).toEqual(
      EXTRA_ROUTES.map(specRouteNameOf).toSorted(),
    )
  })

  it("has no route for a rejected verb, and one for another verb of the same path", () => {
    const refused = ALL_ROUTES.filter(isRejectedVerb).map(({ method, path }) => {
      const verbs = PROGRAM.routes.filter(({ url }) => url === path).map((route) => route.method)
      return [path, verbs.length > 0, verbs.some((verb) => verb === method)]
    })
    expect(refused).toEqual([["/api/v1/mcp", true, false]])
  })

  it("has the program's retired paths", () => {
    expect(PROGRAM.retiredPaths.toSorted()).toEqual(
      SPEC_ROUTES.filter(isRetired)
        .map(({ path }) => path)
        .toSorted(),
    )
  })
})

describe("the rate limits", () => {
  it("are the limits that the table names, with the specification's figures", () => {
    const named = new Set(ALL_ROUTES.flatMap(({ limit }) => limit ?? []))
    // The limits of sign-in codes apply to pages.
    const limits = Object.values(RATE_LIMITS).filter(({ name }) => !name.startsWith("codes"))
    expect([...named].toSorted()).toEqual(limits.map(({ name }) => name).toSorted())
    const figures = limits.map(({ name, max: most, per }) => [name, most, per])
    expect(figures).toEqual([
      ["paid", 120, "key"],
      ["number search", 10, "company"],
      ["domain", 6, "company"],
      ["connect", 10, "address"],
      ...Object.entries(EXTRA_LIMITS).map(([name, own]) => [name, ...own]),
    ])
  })
})

describe("the errors of the table", () => {
  const withErrors = ALL_ROUTES.filter((spec) => spec.errors !== undefined)
  const built = withErrors.flatMap((spec) =>
    routesOfSpec(spec, PROGRAM.routes).map(
      (route) => [specRouteNameOf(spec), spec, route] as const,
    ),
  )

  it.for(built)("are all in the document of %s", ([, { errors }, route]) => {
    // Several shapes on one path are one in the table and in the document.
    const entry = entryAt(PROGRAM.entries, route.method, route.url) ?? route
    const codes = codesInDocument(entry)
    expect(errors?.filter((code) => !codes.includes(code))).toEqual([])
  })
})

describe("the table of operations", () => {
  it("lists what each operation needs", () => {
    expect(OPERATIONS).toEqual(GRANTABLE_OPERATIONS)
  })

  it("lists the operations that cannot be granted", () => {
    expect(OPERATIONS_WITHOUT_ROUTE).toEqual(WITHOUT_ROUTE)
  })

  it("has the operation of every line of the table of routes", () => {
    const named = new Set(ALL_ROUTES.flatMap(({ operation }) => operation ?? []))
    expect([...named].toSorted()).toEqual(Object.keys(GRANTABLE_OPERATIONS).toSorted())
  })
})

/** Names of fields. A nested object lists its own fields inline or by the name of a record. */
type Fields = string | readonly (string | Readonly<Record<string, Fields>>)[]

const read = (file: string): unknown =>
  JSON.parse(readFileSync(new URL(`../data/${file}`, import.meta.url), "utf8"))
const { records, answers } = read("answer-fields.json") as {
  readonly records: Readonly<Record<string, Fields>>
  readonly answers: Readonly<Record<string, Fields>>
}
const SPEC = read("routes.json") as readonly SpecRoute[]

interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly $defs?: Readonly<Record<string, Schema>>
}

/** The object schemas of a value, found through lists, unions and references. */
function objectsOf(schema: Schema, root: Schema): readonly Schema[] {
  const { $ref, anyOf = [], oneOf = [], allOf = [], items, properties } = schema
  const named = $ref === undefined ? undefined : root.$defs?.[$ref.replace("#/$defs/", "")]
  const parts = [named, items, ...anyOf, ...oneOf, ...allOf].filter((one) => one !== undefined)
  const own = properties === undefined ? [] : [schema]
  return [...own, ...parts.flatMap((one) => objectsOf(one, root))]
}

/** Paths of the listed fields that no object of an answer has. */
function missingIn(fields: Fields, objects: readonly Schema[], root: Schema): readonly string[] {
  const listed = typeof fields === "string" ? records[fields] : fields
  if (listed === undefined || typeof listed === "string")
    throw new Error(`no record ${String(fields)}`)
  const schemasOf = (name: string) => objects.flatMap(({ properties }) => properties?.[name] ?? [])
  return listed.flatMap((one) => {
    if (typeof one === "string") return schemasOf(one).length === 0 ? [one] : []
    return Object.entries(one).flatMap(([name, inner]) => {
      const found = schemasOf(name)
      if (found.length === 0) return [name]
      const within = found.flatMap((schema) => objectsOf(schema, root))
      return missingIn(inner, within, root).map((path) => `${name}.${path}`)
    })
  })
}

const missing = (reply: z.ZodType, fields: Fields): readonly string[] => {
  const root = z.toJSONSchema(reply, { io: "output", unrepresentable: "any" }) as Schema
  return missingIn(fields, objectsOf(root, root), root)
}

const ROUTES = PROGRAM.routes.filter((route) => specsOfRoute(route, SPEC).length > 0)

describe("an answer of the specification", () => {
  it.for(ROUTES.map((route) => [route.name, route] as const))(
    "to %s has every field",
    ([name, route]) => {
      const fields = answers[name]
      // A new route of the specification needs its line in the table.
      expect(fields).toBeDefined()
      expect(missing(route.reply, fields ?? [])).toEqual([])
    },
  )

  it("has a table that names no other route", () => {
    const names = ROUTES.map(({ name }) => name)
    expect(Object.keys(answers).toSorted()).toEqual(names.toSorted())
  })

  it("fails this check if one is left out", () => {
    const lead = z.object({ id: z.string(), utm: z.object({}) })
    expect(missing(z.object({ leads: z.array(lead) }), [{ leads: ["id", "formName"] }])).toEqual([
      "leads.formName",
    ])
    expect(missing(z.object({}), [{ leads: "Lead" }, "at"])).toEqual(["leads", "at"])
  })
})
