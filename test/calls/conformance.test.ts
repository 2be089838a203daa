import { PROGRAM } from "../../src/slices.ts"
import { describe, expect, it } from "vitest"
import { OPERATIONS, OPERATIONS_WITHOUT_ROUTE } from "../../domain/access/operations.ts"
import { openApi } from "../../src/frame/http/documents/documents.ts"
import { RATE_LIMITS } from "../../src/frame/calls/rate-limits.ts"
import {
  ALL_ROUTES,
  BEYOND_LIMITS,
  BEYOND_ROUTES,
  GRANTABLE,
  SPEC_ROUTES,
  WITHOUT_ROUTE,
  isBuilt,
  isRetired,
  nameOf,
  takesOwnKey,
} from "../support/routes-table.ts"

/** What is not built yet, group by group. The list only ever gets shorter. */
const NOT_BUILT: Readonly<Record<string, readonly string[]>> = {
  boxes: [
    "GET /api/v1/sandboxes",
    "POST /api/v1/sandboxes",
    "GET /api/v1/sandboxes/:id",
    "GET /api/v1/sandboxes/:id/events",
    "POST /api/v1/sandboxes/:id/exec",
    "POST /api/v1/sandboxes/:id/processes",
    "GET /api/v1/sandboxes/:id/processes",
    "GET /api/v1/sandboxes/:id/processes/:process/logs",
    "DELETE /api/v1/sandboxes/:id/processes/:process",
    "GET /api/v1/sandboxes/:id/files",
    "GET /api/v1/sandboxes/:id/files/content",
    "PUT /api/v1/sandboxes/:id/files/content",
    "DELETE /api/v1/sandboxes/:id/files/content",
    "POST /api/v1/sandboxes/:id/previews",
    "DELETE /api/v1/sandboxes/:id/previews/:port",
    "POST /api/v1/sandboxes/:id/push",
    "POST /api/v1/sandboxes/:id/stop",
    "DELETE /api/v1/sandboxes/:id",
  ],
  mcp: ["POST /api/v1/mcp", "GET /api/v1/mcp"],
  publishing: ["POST /api/v1/publish/preview", "GET /api/v1/publish", "GET /api/v1/publish/:id"],
  phone: [
    "GET /api/v1/phone/state",
    "GET /api/v1/phone/calls",
    "GET /api/v1/phone/settings",
    "PATCH /api/v1/phone/settings",
    "GET /api/v1/phone/search",
    "POST /api/v1/phone/buy",
    "POST /api/v1/phone/release",
    "GET /api/v1/phone/destinations",
    "PATCH /api/v1/phone/destinations",
    "GET /api/v1/phone/recordings",
    "GET /api/v1/phone/recordings/keep",
    "PUT /api/v1/phone/recordings/keep",
    "GET /api/v1/phone/recordings/:callId",
    "DELETE /api/v1/phone/recordings/:callId",
    "PUT /api/v1/phone/business",
    "GET /api/v1/phone/pages",
    "PUT /api/v1/phone/pages",
    "POST /api/v1/phone/pages/check",
    "GET /api/v1/phone/campaign",
    "PUT /api/v1/phone/campaign",
    "POST /api/v1/phone/campaign/draft",
    "GET /api/v1/phone/registration",
    "POST /api/v1/phone/registration/business",
    "POST /api/v1/phone/registration",
    "POST /api/v1/phone/registration/confirm",
  ],
  email: [
    "POST /api/v1/email/send",
    "GET /api/v1/email/domains",
    "POST /api/v1/email/domains with action: add",
    "POST /api/v1/email/domains with action: check",
  ],
  domains: [
    "GET /api/v1/domain",
    "POST /api/v1/domain with {domain}",
    "POST /api/v1/domain with {check: true}",
    "POST /api/v1/domain with action: add_record",
    "POST /api/v1/domain with action: update_record",
    "POST /api/v1/domain with action: remove_record",
    "POST /api/v1/domain with action: export_records",
    "POST /api/v1/domain with action: save_app_address",
  ],
  places: ["POST /api/v1/places with action: suggest", "POST /api/v1/places with action: details"],
  leads: ["GET /api/v1/leads", "POST /api/v1/leads"],
  code: ["GIT code.pull", "GIT code.push"],
}

describe("the table of routes", () => {
  it("is built but for what is listed as not built, name by name", () => {
    const missing: Record<string, string[]> = {}
    for (const spec of SPEC_ROUTES) {
      if (isRetired(spec) || isBuilt(spec)) continue
      missing[spec.group] = [...(missing[spec.group] ?? []), nameOf(spec)]
    }
    expect(missing).toEqual(NOT_BUILT)
  })

  it("has every route that is built, or the table of those beyond the specification", () => {
    const unknown = PROGRAM.routes.filter(
      ({ method, url }) => !ALL_ROUTES.some((spec) => spec.method === method && spec.path === url),
    )
    expect(unknown.map(({ method, url }) => `${method} ${url}`)).toEqual([])
  })

  it("has no route twice", () => {
    const names = PROGRAM.routes.map(({ method, url }) => `${method} ${url}`)
    expect(names).toEqual([...new Set(names)])
  })

  it.for(PROGRAM.routes.map((route) => [`${route.method} ${route.url}`, route] as const))(
    "says the same of %s",
    ([, route]) => {
      const spec = ALL_ROUTES.find((one) => one.method === route.method && one.path === route.url)
      expect({
        group: route.group,
        operation: route.operation,
        counted: route.counted,
        limit: route.limit?.name,
        account: route.account,
        also: route.also,
        permissions: route.permissions,
        roles: route.roles,
        roleRefusal: route.roleRefusal,
        personKey: route.personKey ?? false,
        charges: route.charged ?? false,
        isOpen: route.auth === false,
        // Other gaps may be marked as well: each says which it is.
        chosenVerb: /\bverb\b/.test(route.specGap ?? ""),
        isBeyond: route.beyondSpec !== undefined,
      }).toEqual({
        group: spec?.group,
        operation: spec?.operation,
        counted: spec?.counted,
        limit: spec?.limit,
        account: spec?.account,
        also: spec?.also,
        permissions: spec?.permissions,
        roles: spec?.roles,
        roleRefusal: spec?.roleRefusal,
        personKey: spec !== undefined && takesOwnKey(spec),
        charges: spec?.charge !== undefined,
        isOpen: spec?.auth === false,
        chosenVerb: spec?.chosenVerb ?? false,
        isBeyond: spec !== undefined && BEYOND_ROUTES.includes(spec),
      })
    },
  )

  it("has no route of its own that is beyond the specification and not built or not said so", () => {
    const found = BEYOND_ROUTES.map((spec) => [nameOf(spec), isBuilt(spec)])
    expect(found).toEqual(BEYOND_ROUTES.map((spec) => [nameOf(spec), true]))
    const said = PROGRAM.routes.filter(({ beyondSpec }) => beyondSpec !== undefined)
    const names = said.map(({ method, url }) => `${method} ${url}`)
    expect(names.toSorted()).toEqual(BEYOND_ROUTES.map(nameOf).toSorted())
    expect(SPEC_ROUTES.map(nameOf)).not.toEqual(expect.arrayContaining(names))
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
    const limits = Object.values(RATE_LIMITS)
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
  const document = openApi(PROGRAM.entries, PROGRAM.retired, "https://ledger.example") as {
    readonly paths: Record<
      string,
      Record<string, { readonly responses: Record<string, { readonly description: string }> }>
    >
  }

  it.for(ALL_ROUTES.filter((spec) => isBuilt(spec) && spec.errors !== undefined))(
    "are all in the document of $method $path",
    ({ method, path, errors }) => {
      const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {}
      const codes = Object.values(responses).flatMap(({ description }) => description.split(", "))
      expect(errors?.filter((code) => !codes.includes(code))).toEqual([])
    },
  )
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
