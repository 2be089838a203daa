/**
 * Sends another company's ids in every field of every console call: the answer must equal that for an unknown id,
 * and the other company must not change. Calls and fields come from the program; a field without a row fails.
 */
import { randomUUID } from "node:crypto"
import { describe, expect, it } from "vitest"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { routesIn } from "../../src/frame/routes/declare/route-variants.ts"
import { apiEntriesOf } from "../../src/frame/http/router-entries.ts"
import { operationSlug } from "../../src/frame/operator/protocol.ts"
import type { AdminOperation } from "../../src/frame/operator/operation.ts"
import { PROGRAM } from "../../src/slices.ts"
import { requestExampleOf } from "../support/api-contract.ts"
import { sharedWorld } from "../support/world.ts"
import type { BrowserAnswer, HttpBrowser } from "./http-browser.ts"
import { openPersonBrowser } from "./console-visitors.ts"
import {
  type SampleCompany,
  type NameKind,
  UNKNOWN_NAMES,
  makeSampleCompany,
} from "./sample-company.ts"
import {
  type NamedField,
  FIELD_NAME_KINDS,
  inputFieldsOf,
  fieldKeysFor,
  withNameAt,
} from "./named-fields.ts"
import { KEY_ONLY_ROUTES, OPERATION_ACCESS } from "./operation-access.ts"

/** A call, and a field of it that takes an id or a name. */
interface Naming {
  readonly call: string
  readonly field: string
  readonly kind: NameKind
  /** Calls that delete something come last. */
  readonly order: number
  readonly send: (by: SampleCompany, browser: HttpBrowser, name: string) => Promise<BrowserAnswer>
}

const ROUTES = routesIn(apiEntriesOf(PROGRAM.entries))
const OPERATIONS = PROGRAM.operations.filter((one) => one.consoleAccess !== undefined)

/** Inputs for fields that their operation's row does not set. */
const SUBSTITUTE_INPUTS: Readonly<Record<string, object>> = {
  "limit-set key": { period: "day", dollars: "9" },
  "limit-remove key": {},
}

/** Deletions come last, those of parts first. */
const METHOD_ORDER = ["GET", "PUT", "PATCH", "POST", "DELETE"]
const DELETING_OPERATIONS = ["person-remove", "key-delete"]

const PARTS = ["params", "query", "body"] as const

/** The fields of a route, each path prefixed by its part of the request. */
function fieldsOfRoute(route: Route): readonly NamedField[] {
  return PARTS.flatMap((part) => {
    const schema = route[part]
    if (schema === undefined) return []
    const found = inputFieldsOf(route.url, schema)
    return found.map((field) => ({ ...field, path: [part, ...field.path] }))
  })
}

const namesSomething = (field: NamedField): field is NamedField & { readonly kind: NameKind } =>
  field.kind !== null && field.kind !== undefined

function namingsOfRoute(route: Route): readonly Naming[] {
  const fields = fieldsOfRoute(route).filter(namesSomething)
  return fields.map((field) => ({
    call: route.name,
    field: field.path.join("."),
    kind: field.kind,
    order: METHOD_ORDER.indexOf(route.method) - route.url.length / 1000,
    send: (by, browser, name) =>
      sendTo(route, browser, by, withNameAt(requestOf(route, by), field.path, name)),
  }))
}

/** The route's example request, with the company's own ids in its required fields. */
function requestOf(route: Route, { names, now }: SampleCompany): RequestExample {
  return fieldsOfRoute(route)
    .filter(namesSomething)
    .filter(({ isRequired }) => isRequired)
    .reduce<RequestExample>(
      (shown, { path, kind }) => withNameAt(shown, path, names[kind][0] ?? ""),
      requestExampleOf(route, now),
    )
}

type RequestExample = ReturnType<typeof requestExampleOf>

function sendTo(
  route: Route,
  browser: HttpBrowser,
  { companyId }: SampleCompany,
  shown: RequestExample,
) {
  const { params = {}, query = {}, body } = shown
  const path = route.url.replaceAll(/:(\w+)/g, (_all, at: string) =>
    encodeURIComponent(params[at] ?? ""),
  )
  const url = `/console/${companyId}${path}?${new URLSearchParams(query).toString()}`
  const headers =
    route.permanentIdempotency === undefined ? {} : { "idempotency-key": randomUUID() }
  return browser.send(route.method, url, body, { headers })
}

function namingsOfOperation(operation: AdminOperation): readonly Naming[] {
  const call = operationSlug(operation.name)
  const fields = inputFieldsOf(call, operation.input).filter(namesSomething)
  return fields.map((field) => ({
    call,
    field: field.path.join("."),
    kind: field.kind,
    order: DELETING_OPERATIONS.includes(call) ? 2 : Number(operation.changes === true),
    send: (by, browser, name) => {
      const optional = fields.filter((one) => !one.isRequired).map(({ path }) => path[0])
      const row =
        SUBSTITUTE_INPUTS[`${call} ${field.path.join(".")}`] ??
        OPERATION_ACCESS[call]?.input(by.ids) ??
        {}
      const rest = Object.entries(row).filter(
        ([one]) => one !== "company" && !optional.includes(one),
      )
      return callOperation(
        operation,
        browser,
        by,
        withNameAt(Object.fromEntries(rest), field.path, name),
      )
    },
  }))
}

function callOperation(
  { name, irreversible }: AdminOperation,
  browser: HttpBrowser,
  { companyId }: SampleCompany,
  input: Readonly<Record<string, unknown>>,
) {
  const call = operationSlug(name)
  if (OPERATION_ACCESS[call]?.takesFile === true) {
    const query = new URLSearchParams(input as Record<string, string>).toString()
    const headers = { "content-type": "application/octet-stream" }
    const sent = { bytes: Buffer.from("no bundle"), headers }
    return browser.send("POST", `/console/${companyId}/files/${call}?${query}`, undefined, sent)
  }
  const confirm = irreversible === undefined ? null : (input[irreversible.field] ?? null)
  const body = { input, confirm, reason: "a test" }
  return browser.send("POST", `/console/${companyId}/operations/${call}`, body)
}

const NAMINGS: readonly Naming[] = [
  ...ROUTES.flatMap(namingsOfRoute).toSorted((one, other) => one.order - other.order),
  ...OPERATIONS.flatMap(namingsOfOperation).toSorted((one, other) => one.order - other.order),
]

/**
 * Kinds and calls that answer alike for own and unknown ids: free names that a company chooses, calls that no
 * session may make or only about its own person, and the company, which every path here names.
 */
const UNTRIED: ReadonlySet<string> = new Set([
  "installed app",
  "pick",
  "company",
  "connect-approve",
  ...KEY_ONLY_ROUTES,
])

/** An answer with the sent name, its host part and the request id replaced. */
function withoutName({ status, body }: BrowserAnswer, name: string): string {
  const masked = [name, name.replace(/^.*@/, "")].reduce(
    (text, one) => text.replaceAll(one, "NAME"),
    JSON.stringify(body),
  )
  return `${status} ${masked.replaceAll(/req_\w+/g, "req")}`
}

const world = await sharedWorld({ rateLimits: "off" })
const [mine, theirs] = await Promise.all([makeSampleCompany(world), makeSampleCompany(world)])
const owner = await openPersonBrowser(world, mine.ownerId)

/** A company's streams, and all that its owner can read. */
async function stateOf(company: SampleCompany): Promise<readonly unknown[]> {
  const browser = await openPersonBrowser(world, company.ownerId)
  const found: unknown[] = [await world.operate("audit streams", { company: company.companyId })]
  for (const route of ROUTES.filter(({ method }) => method === "GET")) {
    const { status, body } = await sendTo(route, browser, company, requestOf(route, company))
    found.push([route.name, status, body])
  }
  return found
}

describe("the fields of the console's calls", () => {
  const all = [
    ...ROUTES.map((route) => ({ at: route.url, fields: fieldsOfRoute(route) })),
    ...OPERATIONS.map(({ name, input }) => {
      return { at: operationSlug(name), fields: inputFieldsOf(operationSlug(name), input) }
    }),
  ]

  it("each have a row for the kind of id they take", () => {
    const unknown = all.flatMap(({ at, fields }) =>
      fields.filter(({ kind }) => kind === undefined).map(({ path }) => `${at} ${path.join(".")}`),
    )
    expect(unknown).toEqual([])
    const used = new Set(
      all.flatMap(({ at, fields }) => fields.flatMap((one) => fieldKeysFor(at, one))),
    )
    expect(Object.keys(FIELD_NAME_KINDS).filter((row) => !used.has(row))).toEqual([])
  })

  it("include every parameter of a path", () => {
    const inPaths = ROUTES.flatMap(({ name, url }) =>
      [...url.matchAll(/:(\w+)/g)].map(([, field]) => `${name} params.${field}`),
    )
    const known = ROUTES.flatMap((route) =>
      fieldsOfRoute(route).map(({ path }) => `${route.name} ${path.join(".")}`),
    )
    expect(inPaths.filter((one) => !known.includes(one))).toEqual([])
    expect(inPaths.length).toBeGreaterThan(15)
  })
})

describe("another company's id", () => {
  it("exists for each kind", () => {
    const namesByKind = Object.entries(theirs.names).flatMap(([kind, names]) =>
      names.map((name) => [kind, name] as const),
    )
    expect(namesByKind.filter(([, name]) => typeof name !== "string" || name === "")).toEqual([])
    for (const [kind, names] of Object.entries(UNKNOWN_NAMES)) {
      expect([kind, names.length]).toEqual([kind, theirs.names[kind as NameKind].length])
    }
  })

  it("is answered by every call like an unknown id, and changes nothing", async () => {
    const before = await stateOf(theirs)
    const actual: Record<string, string> = {}
    const expected: Record<string, string> = {}
    for (const { call, field, kind, send } of NAMINGS) {
      for (const [i, name] of theirs.names[kind].entries()) {
        const none = UNKNOWN_NAMES[kind][i] ?? ""
        const attempt = `${call} ${field} ${i}`
        actual[attempt] = withoutName(await send(mine, owner, name), name)
        expected[attempt] = withoutName(await send(mine, owner, none), none)
      }
    }
    expect(actual).toEqual(expected)
    expect(await stateOf(theirs)).toEqual(before)
  }, 240_000)

  // Otherwise the test above would prove nothing.
  it("is answered differently from the company's own id", async () => {
    const alike: string[] = []
    for (const { call, field, kind, send } of NAMINGS) {
      if (UNTRIED.has(kind) || UNTRIED.has(call)) continue
      const [[name = ""], [none = ""]] = [mine.names[kind], UNKNOWN_NAMES[kind]]
      const forUnknown = withoutName(await send(mine, owner, none), none)
      const forOwn = withoutName(await send(mine, owner, name), name)
      if (forOwn === forUnknown) alike.push(`${call} ${field}: ${forOwn}`)
    }
    expect(alike).toEqual([])
  }, 240_000)
})
