/**
 * Sends requests generated from the OpenAPI document to every route. Each answer must be one that the document
 * describes and reveal no internals. 75 requests per route; 5,000 with `LEDGER_DEEP=1`.
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
/** Every route of the program, and sample routes with features that no route of the program uses. */
const ALL = [...PROGRAM.entries, paramsRoute, shapedRoute]
/** Routes by verb and path. */
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
// The sender domain of the example mail.
await addVerifiedDomain(world.ports, company.companyId, "acme.example")
const { body: connected } = await postDomain(world, company, { domain: "fuzz.com" })
const add = { action: "add", domainId: connected.id, domain: "mail.fuzz.com" }
const { id: numberId } = await buyNumberForId(world, company)
// A registration that waits for confirmation, of a company that no other request changes.
const registering = await makeCompany(world)
await saveRegistration(world, registering)
await requestBusinessReview(world, registering)
/** Parts of valid requests that name existing things; the ids in their examples do not exist. */
const overrides: Readonly<Record<string, Partial<ValidRequest>>> = {
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

/** Whether a route reads its body. */
const takesBody = (entry: (typeof ALL)[number]) => "variants" in entry || entry.body !== undefined

/** Valid requests to a route, one for each variant. */
function validRequestsTo(name: string): readonly ValidRequest[] {
  const entry = ENTRIES.get(name)
  if (entry === undefined) return []
  return validRequestsOf(entry).map((one) => ({ ...one, ...overrides[name] }))
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

/** A route's example request, with a key. */
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

/** Asserts that an answer is described in the document and follows the contract of all answers. */
function expectDocumented(name: string, answer: Awaited<ReturnType<typeof send>>): void {
  const [method = "", url = ""] = name.split(" ")
  const call = `${name} ${answer.status} ${answer.text.slice(0, 300)}`
  expect(answer.status, call).toBeLessThan(500)
  const documented = operationOf(name).responses[answer.status]
  expect(documented, `${call}: no such status in the document`).toBeDefined()
  const isJson = answer.type === "application/json"
  const body: unknown = isJson ? JSON.parse(answer.text) : answer.text
  const content = documented?.content?.[answer.type]
  const isEmpty = documented !== undefined && documented.content === undefined
  if (isEmpty) {
    expectContract(method, url, { status: answer.status, headers: answer.headers, body })
    return
  }
  expect(content, `${call}: no such content type in the document`).toBeDefined()
  const validate = validatorOf(content?.schema ?? {})
  expect(validate(body), `${call}: ${ajv.errorsText(validate.errors)}`).toBe(true)
  if (answer.status >= 400) {
    const examples = content?.examples ?? {}
    expect(Object.keys(examples).map(codeOfExample), call).toContain(refusalFromBody(body).error)
  }
  expectContract(method, url, { status: answer.status, headers: answer.headers, body })
}

/** Validators by schema and by its JSON: compiling is slow, and all routes have the same error schema. */
const validators = new Map<unknown, ValidateFunction>()

function validatorOf(schema: object): ValidateFunction {
  const known = validators.get(schema)
  if (known !== undefined) return known
  // The components were added under the id `api`.
  const text = JSON.stringify(schema).replaceAll('"#/components', '"api#/components')
  const compiled = validators.get(text) ?? ajv.compile(JSON.parse(text) as object)
  validators.set(schema, compiled).set(text, compiled)
  return compiled
}

/** The JSON-RPC error code of an answer, or of the first answer of a batch; undefined if there is none. */
function rpcErrorCodeIn(text: string): unknown {
  const [answer] = [JSON.parse(text)].flat() as { readonly error?: { readonly code?: unknown } }[]
  return answer?.error?.code
}

/** The statuses that each route answered. */
const seen = new Map<string, Set<number>>()

describe("a request generated from the document", () => {
  it.for(NAMES)("gets a documented answer: %s", { timeout: 600_000 }, async (name) => {
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
          expectDocumented(name, answer)
        },
      ),
      {
        ...propertyRuns(USUAL, DEEP),
        examples: validRequestsTo(name).map((one) => [exampleOf(name, one)]),
        endOnFailure: !isDeepRun,
      },
    )
    expect(world.warnings).toEqual([])
  })

  it("is sometimes accepted and sometimes rejected, on every route with input", () => {
    // A valid deletion would end the company of all other requests.
    // Generated requests do not know the id of a box.
    // A registration review needs three other routes before it, in order.
    const isChecked = (name: string) =>
      !["POST /api/v1/company/delete", "POST /api/v1/phone/registration"].includes(name) &&
      !name.includes("/sandboxes/:id")
    for (const name of NAMES.filter(isChecked)) {
      const statuses = [...(seen.get(name) ?? [])]
      expect(
        statuses.some((status) => status < 300),
        `${name} was never accepted`,
      ).toBe(true)
      const hasBody = operationOf(name).requestBody !== undefined
      if (hasBody) expect(statuses, name).toContain(400)
    }
  })
})

describe("a hostile body", () => {
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`
  const withBody = [...ENTRIES]
    .filter(([name, entry]) => !name.startsWith("GET") && takesBody(entry))
    .map(([name]) => name)
  /** Built once, because one of them is long. */
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

  /** All fields of a new box are optional, so an object with unknown fields is valid. */
  const TAKES_ANY_OBJECT = "POST /api/v1/sandboxes"

  it.for(withBody)("is rejected by %s", async (name) => {
    for (const { text, request } of REQUESTS) {
      const answer = await send(name, request())
      expectDocumented(name, answer)
      // JSON-RPC reports an invalid request with status 200.
      const isRejected = answer.status >= 400 || rpcErrorCodeIn(answer.text) === -32_600
      const isObject = text.startsWith("{") && text.length < 1_000
      if (name === TAKES_ANY_OBJECT && isObject) continue
      expect(isRejected, text.slice(0, 40)).toBe(true)
    }
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})
