/**
 * Authorization of every route in the specification's table for every kind of caller. A stub with the same
 * declaration replaces a route that is not built yet.
 */
import { PROGRAM } from "../../src/slices.ts"
import { afterAll, describe, expect, it } from "vitest"
import type { Permission, Role } from "../../domain/access/permissions.ts"
import { makeApiKey } from "../../src/frame/routes/checks/credentials.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { refusalFromBody, validRequest } from "../support/api-contract.ts"
import type { SpecRoute } from "../support/routes-table.ts"
import {
  compareRoutes,
  routesOfSpec,
  ALL_ROUTES,
  GRANTABLE_OPERATIONS,
  isRejectedVerb,
  isRetired,
  specRouteNameOf,
  stubRouteOf,
  isOwnKeyOnly,
} from "../support/routes-table.ts"
import type { Company } from "../support/world.ts"
import { addPerson, callApp, makeCompany, sharedWorld } from "../support/world.ts"
import type { CallerCredentials } from "./callers.ts"
import { callersOf } from "./callers.ts"

/** A line of the table that is a request. */
interface Row {
  readonly name: string
  readonly spec: SpecRoute
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE"
  /** The stub's URL if the route is not built. */
  readonly url: string
  /** Null if it is not built. */
  readonly route: Route | null
}

const ROWS: readonly Row[] = ALL_ROUTES.filter(
  // Git, retired routes and rejected verbs let no caller in.
  (spec) => spec.method !== "GIT" && !isRetired(spec) && !isRejectedVerb(spec),
).map((spec, i) => {
  const [route = null] = routesOfSpec(spec, PROGRAM.routes)
  const url = route?.url ?? `/api/v1/stubs/${i}`
  return { name: specRouteNameOf(spec), spec, method: spec.method as Row["method"], url, route }
})
const BUILT = ROWS.filter((row) => row.route !== null)
const STUBS = ROWS.filter((row) => row.route === null).map(({ spec, url }) =>
  stubRouteOf(spec, url),
)

/** The permission or role that a person needs for each operation. */
const NEEDS = GRANTABLE_OPERATIONS as Readonly<Record<string, Permission | "owner" | "any person">>

/** Permissions of the roles below admin (docs/decisions/access.md). */
const CODE: readonly Permission[] = ["Download and pull the code", "Push and upload code"]
const BOXES: readonly Permission[] = ["Create test environments", "Spend on environments"]
const HELD: Readonly<Record<"developer" | "manager" | "user", readonly Permission[]>> = {
  developer: [...CODE, ...BOXES, "Look up addresses"],
  manager: [
    ...(["Team", "Use phone", "Manage phone", "Send email", "Manage domains"] as const),
    ...(["Look up addresses", "Read leads", "See billing"] as const),
  ],
  user: [],
}

const world = await sharedWorld()
const app = await buildApp(world.ports, [...PROGRAM.entries, ...STUBS], PROGRAM.retiredPaths, {
  rateLimits: "off",
})
const callers = callersOf(world, await makeCompany(world))
afterAll(() => app.close())

async function ask({ method, url, route }: Row, { key, headers }: CallerCredentials) {
  const stub = { path: url, query: "", body: undefined, headers: {} }
  const { path, query, body, headers: own } = route === null ? stub : validRequest(route)
  const text = body === undefined ? undefined : JSON.stringify(body)
  const request = { method, url: `${path}${query}`, ...(text === undefined ? {} : { body: text }) }
  const json = text === undefined ? {} : { "content-type": "application/json" }
  const sent = { ...own, ...json, ...headers?.(request) }
  return callApp(app, key, method, request.url, {
    headers: sent,
    ...(text === undefined ? {} : { body: text }),
  })
}

const REFUSED = ["invalid_key", "operation_not_granted", "not_allowed", "role"]

/** "let in", or the status and code of the refusal. */
async function outcome(row: Row, who: CallerCredentials): Promise<string> {
  const { status, body } = await ask(row, who)
  // `clone_failed` comes after all authorization checks: no company here has code for a box.
  if (body.error === "clone_failed") return "let in"
  expect(status, `${row.name}: ${JSON.stringify(body)}`).toBeLessThan(500)
  const { error, operation } = refusalFromBody(body)
  if (!REFUSED.includes(error)) return "let in"
  return `${status} ${error}${error === "operation_not_granted" ? ` ${operation}` : ""}`
}

const BAD_KEY = "401 invalid_key"
const NOT_ALLOWED = "403 not_allowed"
const refusalOf = ({ roleRefusal = "not_allowed" }: SpecRoute) => `403 ${roleRefusal}`

/** Every permission that a person needs for a line. */
function permissionsFor({ operation, permissions = [] }: SpecRoute): readonly Permission[] {
  const own = operation === null ? "any person" : (NEEDS[operation] ?? "any person")
  if (own === "owner" || own === "any person") return permissions
  return [...new Set([own, ...permissions])]
}

function mayRole(role: Role, spec: SpecRoute): boolean {
  if (spec.roles !== undefined && !spec.roles.includes(role)) return false
  if (role === "owner") return true
  if (spec.operation !== null && NEEDS[spec.operation] === "owner") return false
  if (role === "admin") return true
  return permissionsFor(spec).every((permission) => HELD[role].includes(permission))
}

type Case = readonly [
  name: string,
  who: (spec: SpecRoute) => Promise<CallerCredentials>,
  wants: Wants,
]
type Wants = (spec: SpecRoute) => string

const CASES: readonly Case[] = [
  ["no key", async () => ({ key: null }), () => BAD_KEY],
  ["a malformed key", async () => ({ key: "cpk_nothing" }), () => BAD_KEY],
  [
    "a well-formed key that was never created",
    async () => ({ key: makeApiKey(callers.company.companyId).key }),
    () => BAD_KEY,
  ],
  ["a paused key", () => callers.withPausedKey(), () => BAD_KEY],
  ["a deleted key", () => callers.withDeletedKey(), () => BAD_KEY],
  ["a key whose own limit is used up", () => callers.withExhaustedLimit(), () => BAD_KEY],
  ["a key of a deleted company", () => callers.ofDeletedCompany(), () => BAD_KEY],
  ["the owner", () => callers.owner(), () => "let in"],
  ...(["admin", "developer", "manager", "user"] as const).map((role): Case => [
    `a person with the role ${role}`,
    () => callers.withRole(role),
    (spec) => (mayRole(role, spec) ? "let in" : refusalOf(spec)),
  ]),
  [
    "a person with every permission and too low a role",
    () => callers.withInsufficientRole(),
    (spec) => (spec.roles === undefined ? "let in" : refusalOf(spec)),
  ],
  [
    "the app key",
    () => callers.withAppKey(),
    (spec) => {
      if (isOwnKeyOnly(spec)) return NOT_ALLOWED
      return spec.roles === undefined ? "let in" : refusalOf(spec)
    },
  ],
  [
    "the app key with an owner's sign-in",
    () => callers.signedIn("owner"),
    (spec) => (isOwnKeyOnly(spec) ? NOT_ALLOWED : "let in"),
  ],
  [
    "the app key with a user's sign-in",
    () => callers.signedIn("user"),
    (spec) => {
      if (isOwnKeyOnly(spec)) return NOT_ALLOWED
      return mayRole("user", spec) ? "let in" : refusalOf(spec)
    },
  ],
]

/** Calls every row and compares all outcomes with the expected ones. */
async function expectOutcomes(
  rows: readonly (readonly [Row, CallerCredentials, string])[],
): Promise<void> {
  const found: Record<string, string> = {}
  const expected: Record<string, string> = {}
  for (const [row, who, wants] of rows) {
    found[row.name] = await outcome(row, who)
    expected[row.name] = row.spec.auth === false ? "let in" : wants
  }
  expect(found).toEqual(expected)
}

describe("every route", () => {
  it("is tested by exactly one line of the table", () => {
    const lines = BUILT.map(({ spec }) => spec)
    expect(compareRoutes(lines, PROGRAM.routes)).toEqual({ missing: [], unknown: [], twice: [] })
  })

  it.for(CASES)("answers %s", async ([, who, wants]) => {
    const rows = ROWS.map(async (row) => [row, await who(row.spec), wants(row.spec)] as const)
    await expectOutcomes(await Promise.all(rows))
  })

  it("rejects an owner's key without its operation and names the operation", async () => {
    const operations = new Set(ROWS.flatMap(({ spec }) => spec.operation ?? []))
    expect(operations.size).toBe(50)
    for (const operation of operations) {
      const who = await callers.withoutOperation(operation)
      const rows = ROWS.filter(({ spec }) => spec.operation === operation)
      await expectOutcomes(rows.map((row) => [row, who, `403 operation_not_granted ${operation}`]))
    }
  })

  it("rejects an owner's key without its second operation and names the operation", async () => {
    const rows = ROWS.filter(({ spec }) => spec.also !== undefined)
    expect(rows.length).toBeGreaterThan(5)
    for (const row of rows) {
      for (const operation of row.spec.also ?? []) {
        const who = await callers.withoutOperation(operation)
        await expectOutcomes([[row, who, `403 operation_not_granted ${operation}`]])
      }
    }
  })

  it("rejects a person who lacks one of its permissions", async () => {
    for (const row of ROWS) {
      for (const permission of permissionsFor(row.spec)) {
        await expectOutcomes([
          [row, await callers.withoutPermission(permission), refusalOf(row.spec)],
        ])
      }
    }
  })

  it("rejects a person whose access to its operation was denied", async () => {
    for (const row of ROWS) {
      const { operation } = row.spec
      if (operation === null || NEEDS[operation] === "owner") continue
      await expectOutcomes([
        [row, await callers.withDeniedOperation(operation), refusalOf(row.spec)],
      ])
    }
  })
})

describe("a key of another company", () => {
  it("cannot read or change this company's data", async () => {
    const mine = await makeCompany(world)
    const other = await makeCompany(world)
    await addPerson(world, mine, {
      name: "Secretive",
      email: "secretive@example.com",
      role: "user",
    })
    for (const row of BUILT) await ask(row, mine)
    const before = await seenBy(mine)
    const marks = [mine.companyId, mine.ownerId, mine.keyId, "Secretive", "secretive@"]
    expect(marks.filter((mark) => !before.includes(mark))).toEqual([])
    for (const row of BUILT) {
      const { body } = await ask(row, other)
      const text = JSON.stringify(body)
      expect([row.name, marks.filter((mark) => text.includes(mark))]).toEqual([row.name, []])
    }
    expect(await seenBy(mine)).toBe(before)
  })
})

/** All answers of the GET routes to a company's key, after the read models have caught up. */
async function seenBy(company: Company): Promise<string> {
  await world.operate("wait")
  // These routes show the counted calls of this function itself, so their answers differ each time.
  const excluded = ["/api/v1/ledger/events", "/api/v1/billing/export"]
  const rows = BUILT.filter((row) => row.method === "GET" && !excluded.includes(row.url))
  const answers = await Promise.all(rows.map((row) => ask(row, company)))
  for (const [i, { status }] of answers.entries()) {
    const { name, url } = rows[i] as Row
    // The resource that an example path names need not exist.
    const hasParameter = url.includes("/:")
    expect([name, status]).toEqual([name, hasParameter && status === 404 ? 404 : 200])
  }
  return JSON.stringify(answers.map(({ body }) => body))
}
