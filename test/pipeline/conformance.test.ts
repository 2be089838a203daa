import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { OPERATIONS, OPERATIONS_WITHOUT_ROUTE } from "../../domain/access/operations.ts"
import { openApi } from "../../src/documents.ts"
import { RETIRED, ROUTES } from "../../src/routes.ts"

/** A line of the specification's table of routes. */
interface SpecRoute {
  readonly group: string
  readonly method: string
  readonly path: string
  readonly operation: string | null
  readonly counted: boolean
  readonly limit?: string
  readonly account?: string
  readonly charge?: string
  readonly auth?: false
  readonly chosenVerb?: boolean
  readonly success?: number | readonly number[]
  readonly errors?: readonly string[]
  /** Which of several bodies on one path this line is. */
  readonly body?: string
}

function readData(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../data/${name}`, import.meta.url), "utf8"))
}

const SPEC = readData("routes.json") as readonly SpecRoute[]

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
    "GET /api/v1/phone/optins",
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
  company: ["POST /api/v1/company/delete"],
  code: ["GIT code.pull", "GIT code.push"],
}

/** How a line of the table is called. */
function nameOf({ method, path, body, operation }: SpecRoute): string {
  if (method === "GIT") return `GIT ${operation}`
  return body === undefined ? `${method} ${path}` : `${method} ${path} with ${body}`
}

const isRetired = ({ success }: SpecRoute): boolean => success === 410
const isBuilt = (spec: SpecRoute): boolean =>
  ROUTES.some((route) => route.method === spec.method && route.url === spec.path)

describe("the table of routes", () => {
  it("is built but for what is listed as not built, name by name", () => {
    const missing: Record<string, string[]> = {}
    for (const spec of SPEC) {
      if (isRetired(spec) || isBuilt(spec)) continue
      missing[spec.group] = [...(missing[spec.group] ?? []), nameOf(spec)]
    }
    expect(missing).toEqual(NOT_BUILT)
  })

  it("has every route that is built", () => {
    const unknown = ROUTES.filter(
      ({ method, url }) => !SPEC.some((spec) => spec.method === method && spec.path === url),
    )
    expect(unknown.map(({ method, url }) => `${method} ${url}`)).toEqual([])
  })

  it("has no route twice", () => {
    const names = ROUTES.map(({ method, url }) => `${method} ${url}`)
    expect(names).toEqual([...new Set(names)])
  })

  it.for(ROUTES.map((route) => [`${route.method} ${route.url}`, route] as const))(
    "says the same of %s",
    ([, route]) => {
      const spec = SPEC.find((one) => one.method === route.method && one.path === route.url)
      expect({
        group: route.group,
        operation: route.operation,
        counted: route.counted,
        limit: route.limit,
        account: route.account,
        charges: route.charged ?? false,
        isOpen: route.auth === false,
        // Other gaps may be marked as well: each says which it is.
        chosenVerb: /\bverb\b/.test(route.specGap ?? ""),
      }).toEqual({
        group: spec?.group,
        operation: spec?.operation,
        counted: spec?.counted,
        limit: spec?.limit,
        account: spec?.account,
        charges: spec?.charge !== undefined,
        isOpen: spec?.auth === false,
        chosenVerb: spec?.chosenVerb ?? false,
      })
    },
  )

  it("has its retired routes", () => {
    expect(RETIRED.toSorted()).toEqual(
      SPEC.filter(isRetired)
        .map(({ path }) => path)
        .toSorted(),
    )
  })
})

describe("the errors of the table", () => {
  const document = openApi(ROUTES, RETIRED, "https://ledger.example") as {
    readonly paths: Record<
      string,
      Record<string, { readonly responses: Record<string, { readonly description: string }> }>
    >
  }

  it.for(SPEC.filter((spec) => isBuilt(spec) && spec.errors !== undefined))(
    "are all in the document of $method $path",
    ({ method, path, errors }) => {
      const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {}
      const codes = Object.values(responses).flatMap(({ description }) => description.split(", "))
      expect(errors?.filter((code) => !codes.includes(code))).toEqual([])
    },
  )
})

describe("the table of operations", () => {
  const { grantable, withoutRoute } = readData("operations.json") as {
    readonly grantable: Record<string, string>
    readonly withoutRoute: readonly string[]
  }

  it("says what each operation needs", () => {
    expect(OPERATIONS).toEqual(grantable)
  })

  it("names those that cannot be granted", () => {
    expect(OPERATIONS_WITHOUT_ROUTE).toEqual(withoutRoute)
  })

  it("has the operation of every line of the table of routes", () => {
    const named = new Set(SPEC.flatMap(({ operation }) => operation ?? []))
    expect([...named].toSorted()).toEqual(Object.keys(grantable).toSorted())
  })
})
