/**
 * Every route of the API's document, asked with requests made from the document: whatever is sent, the
 * answer is one that the document promises, and nothing of the inside shows. 75 requests a route, and
 * 5,000 with `LEDGER_DEEP=1`.
 */
import { PROGRAM } from "../../src/slices.ts"
import type { ValidateFunction } from "ajv/dist/2020.js"
import { Ajv2020 } from "ajv/dist/2020.js"
import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { shapedRoute, paramsRoute } from "../frame/sample-routes.ts"
import { codeOfExample } from "../../src/frame/http/documents/document-responses.ts"
import { isDeepRun, propertyRuns } from "../charging/property-runs.ts"
import type { ValidRequest } from "../support/api-contract.ts"
import {
  validRequestsOf,
  inlineReferences,
  refusalFromBody,
  expectContract,
} from "../support/api-contract.ts"
import { SENDING_DOMAINS_PATH, postDomain } from "../domains/domain-world.ts"
import { buyNumberForId } from "../phone/number-orders.ts"
import { addVerifiedDomain } from "../email/mail-world.ts"
import { publishOne } from "../publishing/route-scenarios.ts"
import { PUBLISHES_PATH } from "../publishing/publish-world.ts"
import { requestBusinessReview, saveRegistration } from "../registration/registration-world.ts"
import { RECORDINGS_PATH, storeRecording } from "../recordings/recording-world.ts"
import { makeCompany, makeKey, ownWorld } from "../support/world.ts"
import type { FuzzRequest, DocumentOperation } from "./requests.ts"
import { fuzzRequestsTo } from "./requests.ts"

const USUAL = 75
const DEEP = 5_000

const world = await ownWorld("store", { rateLimits: "off" })
/** Every route of the program, and pretended ones of what it has none of so far. */
const ALL = [...PROGRAM.entries, paramsRoute, shapedRoute]
/** What there is at each verb and path. */
const ENTRIES = new Map(ALL.map((entry) => [`${entry.method} ${entry.url}`, entry]))
const NAMES = [...ENTRIES.keys()]

const company = await makeCompany(world)
await world.operate("funds add", { company: company.companyId, dollars: "100000" })
await world.operate("card set", { company: company.companyId, verified: true })
await world.operate("repository create", { company: company.companyId })
const allowance = { addFundsPerPurchase: "5000", addFundsPerMonth: "10000000" }
await world.operate("key change", { keyId: company.keyId, purchases: "on", ...allowance })
const { key: poor } = await makeKey(world, company, { operations: ["phone.messages.read"] })
const { body: publish } = await publishOne(world, company)
// What the example of a mail is from.
await addVerifiedDomain(world.ports, company.companyId, "acme.example")
const { body: connected } = await postDomain(world, company, { domain: "fuzz.com" })
const add = { action: "add", domainId: connected.id, domain: "mail.fuzz.com" }
const { id: numberId } = await buyNumberForId(world, company)
// What is confirmed must wait for it: of a company that no other request changes.
const registering = await makeCompany(world)
await saveRegistration(world, registering)
await requestBusinessReview(world, registering)
/** What right requests name instead of what their examples name, which is not there. */
const there: Readonly<Record<string, Partial<ValidRequest>>> = {
  "POST /api/v1/phone/registration/confirm": {
    headers: { authorization: `Bearer ${registering.key}` },
  },
  "POST /api/v1/phone/release": { body: { id: numberId } },
  [`POST ${SENDING_DOMAINS_PATH}`]: { body: add },
  [`POST ${PUBLISHES_PATH}/preview`]: { body: { commit: publish.commit } },
  [`GET ${PUBLISHES_PATH}/:id`]: { path: `${PUBLISHES_PATH}/${publish.id}` },
  [`GET ${RECORDINGS_PATH}/:callId`]: {
    path: `${RECORDINGS_PATH}/${await storeRecording(world, company)}`,
  },
  [`DELETE ${RECORDINGS_PATH}/:callId`]: {
    path: `${RECORDINGS_PATH}/${await storeRecording(world, company)}`,
  },
}
const app = await buildApp(world.ports, ALL, PROGRAM.retiredPaths, { rateLimits: "off" })
const document = (await app.inject("/openapi.json")).json<{
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>
  readonly components: object
}>()
const ajv = new Ajv2020({ strict: false, validateFormats: false })
ajv.addSchema({ $id: "api", components: document.components })
afterAll(() => app.close())

/** Whether it reads a body: of another one nobody looks at what is in it. */
const takesBody = (entry: (typeof ALL)[number]) => "variants" in entry || entry.body !== undefined

/** The right requests to what is called so, one a shape. */
function rightOnes(name: string): readonly ValidRequest[] {
  const entry = ENTRIES.get(name)
  if (entry === undefined) return []
  return validRequestsOf(entry).map((one) => ({ ...one, ...there[name] }))
}

function operationOf(name: string): DocumentOperation {
  const [method = "", url = ""] = name.split(" ")
  const operation = document.paths[url.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]
  if (operation === undefined) throw new Error(`${name} is not in the document`)
  return operation
}

async function send(name: string, { params, query, headers, payload }: FuzzRequest) {
  const [method = "", url = ""] = name.split(" ")
  const path = url.replaceAll(/:(\w+)/g, (_all, param: string) => params[param] ?? "-")
  const answer = await app.inject({
    method: method as "GET",
    url: `${path}${query}`,
    headers,
    ...(payload === null ? {} : { payload }),
  })
  const type = String(answer.headers["content-type"]).split(";", 1)[0] ?? ""
  return { status: answer.statusCode, headers: answer.headers, type, text: answer.payload }
}

/** A route's own example, with a key. */
function exampleOf(name: string, { path, query, body, headers }: ValidRequest): FuzzRequest {
  const segments = path.split("/")
  const named = name.split("/").flatMap((part, at) => {
    return part.startsWith(":") ? [[part.slice(1), segments[at] ?? ""] as const] : []
  })
  return {
    params: Object.fromEntries(named),
    query,
    headers: {
      authorization: `Bearer ${company.key}`,
      ...headers,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    payload: body === undefined ? null : Buffer.from(JSON.stringify(body)),
  }
}

/** Holds an answer against the document, and against what every answer must be. */
function expectPromised(name: string, answer: Awaited<ReturnType<typeof send>>): void {
  const [method = "", url = ""] = name.split(" ")
  const call = `${name} ${answer.status} ${answer.text.slice(0, 300)}`
  expect(answer.status, call).toBeLessThan(500)
  const promised = operationOf(name).responses[answer.status]
  expect(promised, `${call}: no such status in the document`).toBeDefined()
  const isJson = answer.type === "application/json"
  const body: unknown = isJson ? JSON.parse(answer.text) : answer.text
  const form = promised?.content?.[answer.type]
  const isEmpty = promised !== undefined && promised.content === undefined
  if (isEmpty) {
    expectContract(method, url, { status: answer.status, headers: answer.headers, body })
    return
  }
  expect(form, `${call}: no such content type in the document`).toBeDefined()
  const validate = validatorOf(form?.schema ?? {})
  expect(validate(body), `${call}: ${ajv.errorsText(validate.errors)}`).toBe(true)
  if (answer.status >= 400) {
    const examples = form?.examples ?? {}
    expect(Object.keys(examples).map(codeOfExample), call).toContain(refusalFromBody(body).error)
  }
  expectContract(method, url, { status: answer.status, headers: answer.headers, body })
}

/** By the schema, and by its text: compiling takes many times as long as asking, and routes refuse in one form. */
const validators = new Map<unknown, ValidateFunction>()

function validatorOf(schema: object): ValidateFunction {
  const known = validators.get(schema)
  if (known !== undefined) return known
  // References are found by the name under which the components were added.
  const text = JSON.stringify(schema).replaceAll('"#/components', '"api#/components')
  const compiled = validators.get(text) ?? ajv.compile(JSON.parse(text) as object)
  validators.set(schema, compiled).set(text, compiled)
  return compiled
}

/** The code of a refusal as JSON-RPC says it, of the first of a batch; undefined where it is none. */
function refusalCodeIn(text: string): unknown {
  const [answer] = [JSON.parse(text)].flat() as { readonly error?: { readonly code?: unknown } }[]
  return answer?.error?.code
}

/** How often each status came. */
const seen = new Map<string, Set<number>>()

describe("a request made from the document", () => {
  it.for(NAMES)("is answered as the document says: %s", { timeout: 600_000 }, async (name) => {
    const keys = fc.oneof(
      { weight: 12, arbitrary: fc.constant(company.key) },
      { weight: 1, arbitrary: fc.constantFrom(null, "cpk_unknown", "", poor) },
    )
    const statuses = new Set<number>()
    seen.set(name, statuses)
    await fc.assert(
      fc.asyncProperty(
        fuzzRequestsTo(inlineReferences(operationOf(name), document), keys),
        async (request) => {
          const answer = await send(name, request)
          statuses.add(answer.status)
          expectPromised(name, answer)
        },
      ),
      {
        ...propertyRuns(USUAL, DEEP),
        examples: rightOnes(name).map((one) => [exampleOf(name, one)]),
        endOnFailure: !isDeepRun,
      },
    )
    expect(world.warnings).toEqual([])
  })

  it("was sometimes right and sometimes wrong, on every route that takes something", () => {
    // What is right there ends the company that all of this is asked for.
    // What is asked of a box is asked of none: who makes requests up does not know its id.
    // What is sent for review needs what three other routes do before, in their order.
    const isAsked = (name: string) =>
      !["POST /api/v1/company/delete", "POST /api/v1/phone/registration"].includes(name) &&
      !name.includes("/sandboxes/:id")
    for (const name of NAMES.filter(isAsked)) {
      const statuses = [...(seen.get(name) ?? [])]
      expect(
        statuses.some((status) => status < 300),
        `${name} was never right`,
      ).toBe(true)
      const hasBody = operationOf(name).requestBody !== undefined
      if (hasBody) expect(statuses, name).toContain(400)
    }
  })
})

describe("a body that is too much", () => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`
  const withBody = [...ENTRIES]
    .filter(([name, entry]) => !name.startsWith("GET") && takesBody(entry))
    .map(([name]) => name)
  /** Made once: one of them is long. */
  const REQUESTS = [
    nested(60),
    nested(50_000),
    "[".repeat(60) + "]".repeat(60),
    JSON.stringify({ body: "x".repeat(20 * 1024 * 1024) }),
    `{"__proto__":{"to":"+14155550123","isAdmin":true},"constructor":{"prototype":{}}}`,
    `{"to":"+14155550123","to":"+14155550124","body":"\\ud800"}`,
    `{"a":"\\u0000"}`,
  ].map((text) => {
    const payload = Buffer.from(text)
    const request = (): FuzzRequest => {
      const headers = {
        authorization: `Bearer ${company.key}`,
        "content-type": "application/json",
        "idempotency-key": text.slice(0, 40).replaceAll('"', ""),
      }
      return { params: {}, query: "", headers, payload }
    }
    return { text, request }
  })

  /** Of a box nothing has to be said, so an object of fields that nobody knows is right, too. */
  const TAKES_NOTHING = "POST /api/v1/sandboxes"

  it.for(withBody)("is refused by %s", async (name) => {
    for (const { text, request } of REQUESTS) {
      const answer = await send(name, request())
      expectPromised(name, answer)
      // JSON-RPC tells of what is no request with a status of 200.
      const isRefused = answer.status >= 400 || refusalCodeIn(answer.text) === -32_600
      const isObject = text.startsWith("{") && text.length < 1_000
      if (name === TAKES_NOTHING && isObject) continue
      expect(isRefused, text.slice(0, 40)).toBe(true)
    }
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})
