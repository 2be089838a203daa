/**
 * Another company's ids in every call of the console, field by field: they are answered as those that name
 * nothing, and nothing of that company changes. The calls and their fields are those of the program; one
 * that no row knows fails.
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

/** A call, and a field of it that names something. */
interface Naming {
  readonly call: string
  readonly field: string
  readonly kind: NameKind
  /** Those that take something away are last. */
  readonly order: number
  readonly send: (by: SampleCompany, browser: HttpBrowser, name: string) => Promise<BrowserAnswer>
}

const ROUTES = routesIn(apiEntriesOf(PROGRAM.entries))
const OPERATIONS = PROGRAM.operations.filter((one) => one.consoleAccess !== undefined)

/** What a row of an operation does not say where it is asked about this field. */
const INSTEAD: Readonly<Record<string, object>> = {
  "limit-set key": { period: "day", dollars: "9" },
  "limit-remove key": {},
}

/** What takes away comes last, of the part before the whole. */
const ORDER = ["GET", "PUT", "PATCH", "POST", "DELETE"]
const ENDS = ["person-remove", "key-delete"]

const PARTS = ["params", "query", "body"] as const

/** The fields of a route, each behind the part of the request in which it stands. */
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

function ofRoute(route: Route): readonly Naming[] {
  const fields = fieldsOfRoute(route).filter(namesSomething)
  return fields.map((field) => ({
    call: route.name,
    field: field.path.join("."),
    kind: field.kind,
    order: ORDER.indexOf(route.method) - route.url.length / 1000,
    send: (by, browser, name) =>
      sendTo(route, browser, by, withNameAt(ownRequest(route, by), field.path, name)),
  }))
}

/** What a route shows of a right request, about things of the company where it must name some. */
function ownRequest(route: Route, { names, now }: SampleCompany): Shown {
  return fieldsOfRoute(route)
    .filter(namesSomething)
    .filter(({ isRequired }) => isRequired)
    .reduce<Shown>(
      (shown, { path, kind }) => withNameAt(shown, path, names[kind][0] ?? ""),
      requestExampleOf(route, now),
    )
}

type Shown = ReturnType<typeof requestExampleOf>

function sendTo(route: Route, browser: HttpBrowser, { companyId }: SampleCompany, shown: Shown) {
  const { params = {}, query = {}, body } = shown
  const path = route.url.replaceAll(/:(\w+)/g, (_all, at: string) =>
    encodeURIComponent(params[at] ?? ""),
  )
  const url = `/console/${companyId}${path}?${new URLSearchParams(query).toString()}`
  const headers =
    route.permanentIdempotency === undefined ? {} : { "idempotency-key": randomUUID() }
  return browser.send(route.method, url, body, { headers })
}

function ofOperation(operation: AdminOperation): readonly Naming[] {
  const call = operationSlug(operation.name)
  const fields = inputFieldsOf(call, operation.input).filter(namesSomething)
  return fields.map((field) => ({
    call,
    field: field.path.join("."),
    kind: field.kind,
    order: ENDS.includes(call) ? 2 : Number(operation.changes === true),
    send: (by, browser, name) => {
      const left = fields.filter((one) => !one.isRequired).map(({ path }) => path[0])
      const row =
        INSTEAD[`${call} ${field.path.join(".")}`] ?? OPERATION_ACCESS[call]?.input(by.ids) ?? {}
      const kept = Object.entries(row).filter(([one]) => one !== "company" && !left.includes(one))
      return doIt(operation, browser, by, withNameAt(Object.fromEntries(kept), field.path, name))
    },
  }))
}

function doIt(
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
  ...ROUTES.flatMap(ofRoute).toSorted((one, other) => one.order - other.order),
  ...OPERATIONS.flatMap(ofOperation).toSorted((one, other) => one.order - other.order),
]

/**
 * What says nothing by how it is answered: names that a company gives itself, of which any will do; what no
 * session can ask at all, or only about oneself; and the company, as which everything here is asked.
 */
const UNTRIED: ReadonlySet<string> = new Set([
  "installed app",
  "pick",
  "company",
  "connect-approve",
  ...KEY_ONLY_ROUTES,
])

/** An answer without the name that was sent, also as far as it is a host's, and the request's own. */
function withoutName({ status, body }: BrowserAnswer, name: string): string {
  const said = [name, name.replace(/^.*@/, "")].reduce(
    (text, one) => text.replaceAll(one, "NAME"),
    JSON.stringify(body),
  )
  return `${status} ${said.replaceAll(/req_\w+/g, "req")}`
}

const world = await sharedWorld({ rateLimits: "off" })
const [mine, theirs] = await Promise.all([makeSampleCompany(world), makeSampleCompany(world)])
const owner = await openPersonBrowser(world, mine.ownerId)

/** All that is stored of a company, and what its owner is shown of it. */
async function seenOf(company: SampleCompany): Promise<readonly unknown[]> {
  const browser = await openPersonBrowser(world, company.ownerId)
  const found: unknown[] = [await world.operate("audit streams", { company: company.companyId })]
  for (const route of ROUTES.filter(({ method }) => method === "GET")) {
    const { status, body } = await sendTo(route, browser, company, ownRequest(route, company))
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

  it("each name something of a known kind, or nothing", () => {
    const unknown = all.flatMap(({ at, fields }) =>
      fields.filter(({ kind }) => kind === undefined).map(({ path }) => `${at} ${path.join(".")}`),
    )
    expect(unknown).toEqual([])
    const told = new Set(
      all.flatMap(({ at, fields }) => fields.flatMap((one) => fieldKeysFor(at, one))),
    )
    expect(Object.keys(FIELD_NAME_KINDS).filter((row) => !told.has(row))).toEqual([])
  })

  it("are those that paths name", () => {
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

describe("what is another company's", () => {
  it("has a name of each kind", () => {
    const words = Object.entries(theirs.names).flatMap(([kind, names]) =>
      names.map((name) => [kind, name] as const),
    )
    expect(words.filter(([, name]) => typeof name !== "string" || name === "")).toEqual([])
    for (const [kind, names] of Object.entries(UNKNOWN_NAMES)) {
      expect([kind, names.length]).toEqual([kind, theirs.names[kind as NameKind].length])
    }
  })

  it("is answered by every call as what is not there, and stays as it is", async () => {
    const before = await seenOf(theirs)
    const found: Record<string, string> = {}
    const wanted: Record<string, string> = {}
    for (const { call, field, kind, send } of NAMINGS) {
      for (const [i, name] of theirs.names[kind].entries()) {
        const none = UNKNOWN_NAMES[kind][i] ?? ""
        const place = `${call} ${field} ${i}`
        found[place] = withoutName(await send(mine, owner, name), name)
        wanted[place] = withoutName(await send(mine, owner, none), none)
      }
    }
    expect(found).toEqual(wanted)
    expect(await seenOf(theirs)).toEqual(before)
  }, 240_000)

  // Else the test above says nothing.
  it("would be answered otherwise if it were one's own", async () => {
    const alike: string[] = []
    for (const { call, field, kind, send } of NAMINGS) {
      if (UNTRIED.has(kind) || UNTRIED.has(call)) continue
      const [[name = ""], [none = ""]] = [mine.names[kind], UNKNOWN_NAMES[kind]]
      const wanted = withoutName(await send(mine, owner, none), none)
      const found = withoutName(await send(mine, owner, name), name)
      if (found === wanted) alike.push(`${call} ${field}: ${found}`)
    }
    expect(alike).toEqual([])
  }, 240_000)
})
