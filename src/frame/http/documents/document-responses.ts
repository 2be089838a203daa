/** The answers of a route in the OpenAPI document: bodies, examples, and what their heads carry. */
import type { ZodType } from "zod"
import type { RefusalCode, ErrorCode } from "../../routes/answers/refusal.ts"
import { publicErrorCode, statusOfCode } from "../../routes/answers/refusal.ts"
import type { JsonObject } from "./named-schemas.ts"
import { schemaReference, namedJsonSchema, jsonSchemaOf, typeName } from "./named-schemas.ts"
import { errorExampleOf, routeErrorExample } from "./error-examples.ts"
import { routeExampleOf as exampleRequestOf } from "./document-requests.ts"
import type { Route } from "../../routes/declare/route.ts"

const TEXT_SCHEMA = { type: "string" }

/** The headers of answers, by name. */
export const RESPONSE_HEADERS: Readonly<Record<string, JsonObject>> = {
  "x-request-id": {
    description: "The name of this request: what to tell whoever runs the server.",
    required: true,
    schema: TEXT_SCHEMA,
  },
  "Ledger-Position": {
    description:
      "Where in the ledger this was written, be it what led to a refusal: sent with a read, it waits " +
      "for that place.",
    schema: TEXT_SCHEMA,
  },
  "Ledger-Stale": {
    description: "The answer may not show yet what was written before.",
    schema: { type: "string", const: "true" },
  },
  "Idempotency-Replayed": {
    description:
      "An earlier request with the same Idempotency-Key was carried out; nothing was now.",
    schema: { type: "string", const: "true" },
  },
  "WWW-Authenticate": {
    description: "How to say who calls: with a key behind `Bearer`.",
    required: true,
    schema: { type: "string", const: "Bearer" },
  },
  Allow: { description: "The verbs that there are.", required: true, schema: TEXT_SCHEMA },
  "Retry-After": {
    description: "So many seconds later it is worth another try.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
}

const headerReferences = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The head of an answer that went well. */
function successHeaders(route: Route): JsonObject {
  const names = ["x-request-id"]
  const isWrite = route.method !== "GET" && route.auth !== false
  if (isWrite) names.push("Ledger-Position")
  if (route.method === "GET" && route.readModels !== undefined) names.push("Ledger-Stale")
  if (route.isCharged === true || route.permanentIdempotency !== undefined)
    names.push("Idempotency-Replayed")
  return headerReferences(names)
}

/** The head of a refusal with one of these codes. */
function refusalHeaders(route: Route, codes: readonly RefusalCode[]): JsonObject {
  const names = ["x-request-id"]
  if (codes.some((code) => statusOfCode(code) === 401)) names.push("WWW-Authenticate")
  if (codes.includes("method_not_allowed")) names.push("Allow")
  if (codes.some((code) => statusOfCode(code) === 503)) names.push("Retry-After")
  if (codes.some((code) => route.permanentIdempotency?.finalCodes.includes(code)))
    names.push("Idempotency-Replayed")
  const mayRecord = route.isCharged === true || route.permanentIdempotency !== undefined
  const ends = [...(route.permanentIdempotency?.finalCodes ?? []), ...(route.refusalCodes ?? [])]
  if (mayRecord && codes.some((code) => ends.includes(code))) names.push("Ledger-Position")
  if (!codes.includes("rate_limited")) return headerReferences(names)
  const isAlone = codes.length === 1
  const seconds = {
    description: `${isAlone ? "A" : "With `rate_limited`, and only with it: a"} minute later the calls are counted anew.`,
    ...(isAlone ? { required: true } : {}),
    schema: { type: "integer", const: 60 },
  }
  return { ...headerReferences(names), "Retry-After": seconds }
}

/** What routes answered when they were asked as their examples show, by a route's name and the status. */
export type ExampleAnswers = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** The answers of a route, by status. */
export function responsesOf(
  route: Route,
  verbs: readonly string[],
  answers: ExampleAnswers,
): JsonObject {
  const byStatus = Map.groupBy(refusalCodesOf(route), statusOfCode)
  const refusals = [...byStatus].map(([status, codes]) => {
    return [status, refusalsOf(route, codes, verbs)] as const
  })
  return { ...successesOf(route, answers), ...Object.fromEntries(refusals) }
}

/** The answers of several routes on one verb and path, by status. */
export function responsesOfVariants(
  shapes: readonly Route[],
  verbs: readonly string[],
  answers: ExampleAnswers,
): JsonObject {
  const all = shapes.map((route) => {
    const responses = responsesOf(route, verbs, answers) as Record<string, DocumentedResponse>
    return { shape: route.summary, responses }
  })
  const statuses = [...new Set(all.flatMap(({ responses }) => Object.keys(responses)))]
  const answersWith = (status: string) =>
    all.flatMap(({ shape, responses }) => {
      const answer = responses[status]
      return answer === undefined ? [] : [{ ...answer, shape }]
    })
  return Object.fromEntries(statuses.map((status) => [status, mergeResponses(answersWith(status))]))
}

/** A response of the document. */
interface DocumentedResponse {
  readonly description: string
  readonly headers: JsonObject
  readonly content: Readonly<
    Record<string, { readonly schema: JsonObject; readonly examples?: JsonObject }>
  >
}

/** The responses of several shapes with one status: any of their bodies, all of their examples. */
function mergeResponses(
  answers: readonly (DocumentedResponse & { readonly shape: string })[],
): DocumentedResponse {
  const codes = [...new Set(answers.flatMap(({ description }) => description.split(", ")))]
  const contents = answers.flatMap(({ shape, content }) => {
    const json = content["application/json"]
    return json === undefined ? [] : [{ ...json, shape }]
  })
  const schemas = new Map(contents.map(({ schema }) => [JSON.stringify(schema), schema]))
  const [only, other] = schemas.values()
  const schema = other === undefined ? (only ?? {}) : { anyOf: [...schemas.values()] }
  const examples = mergeExamples(contents)
  const shown = Object.keys(examples).length === 0 ? { schema } : { schema, examples }
  return {
    description: codes.join(", "),
    headers: Object.assign({}, ...answers.map(({ headers }) => headers)) as JsonObject,
    content: { "application/json": shown },
  }
}

/** The examples of all shapes by their codes; where a later shape says it otherwise, with its name behind. */
function mergeExamples(
  contents: readonly { readonly shape: string; readonly examples?: JsonObject }[],
): JsonObject {
  const byName = new Map<string, unknown>()
  const isThere = (code: string, example: unknown) =>
    [...byName].some(
      ([name, one]) =>
        codeOfExample(name) === code && JSON.stringify(one) === JSON.stringify(example),
    )
  for (const { shape, examples = {} } of contents) {
    for (const [code, example] of Object.entries(examples)) {
      if (!isThere(code, example))
        byName.set(byName.has(code) ? `${code}: ${shape}` : code, example)
    }
  }
  return Object.fromEntries(byName)
}

/** The code that an example of the document is of, by what the example is called there. */
export const codeOfExample = (name: string): string => name.split(":", 1)[0] ?? name

const STATUS_DESCRIPTIONS: Readonly<Record<number, string>> = {
  201: "Made",
  202: "Begun",
  206: "A part",
}

function successesOf(route: Route, answers: ExampleAnswers): JsonObject {
  const schema = namedJsonSchema(typeName(route.name, "Answer"), route.reply, "output")
  const headers = successHeaders(route)
  const statuses = route.statuses ?? [200]
  const types = (route.fileTypes ?? ["application/json"]).map(
    (type) => type.split(";", 1)[0] as string,
  )
  const schemaIn = (type: string) =>
    route.fileTypes === undefined ? schema : fileSchema(type, types)
  return Object.fromEntries(
    statuses.map((status) => {
      const description = STATUS_DESCRIPTIONS[status] ?? "Done"
      if (route.bodilessStatuses?.includes(status) === true)
        return [status, { description: "Taken", headers }]
      const content = types.map((type) => [
        type,
        { schema: schemaIn(type), ...responseExample(answers, route, status, type) },
      ])
      return [status, { description, headers, content: Object.fromEntries(content) as JsonObject }]
    }),
  )
}

const BINARY_SCHEMA = { type: "string", format: "binary" }

/**
 * A file in a response: clients hold text as a string, and any other as its bytes. The first of a
 * route's types says what all of them are, for generators of clients read it alone.
 */
function fileSchema(type: string, types: readonly string[]): JsonObject {
  const description = "The file"
  const kinds = new Set((type === types[0] ? types : [type]).map((one) => one.startsWith("text/")))
  if (kinds.size === 2)
    return schemaReference("TextOrBytes", { description, anyOf: [TEXT_SCHEMA, BINARY_SCHEMA] })
  return kinds.has(true) ? { description, ...TEXT_SCHEMA } : { description, ...BINARY_SCHEMA }
}

/** The answer that is shown, by what clients call the route; of a file that of the type it was asked in. */
function responseExample(
  answers: ExampleAnswers,
  { name, fileTypes }: Route,
  status: number,
  type: string,
): JsonObject {
  const shown = answers[name]?.[status]
  if (shown === undefined) return {}
  if (fileTypes === undefined) return { examples: { [name]: { value: shown } } }
  const { type: own, file } = shown as { readonly type: string; readonly file: string }
  return own === type ? { examples: { [name]: { value: file } } } : {}
}

/** The codes of bodies that nobody can read. */
const UNREADABLE_BODY_CODES: readonly RefusalCode[] = [
  "validation",
  "too_large",
  "unsupported_media_type",
]

/** The refusals of a status: the codes it can carry, and one example a code. */
function refusalsOf(
  route: Route,
  codes: readonly RefusalCode[],
  verbs: readonly string[],
): JsonObject {
  // Who comes by another verb is told before there is a route.
  const form = codes.includes("method_not_allowed") ? undefined : route.errorFormat
  const examples = codes.map((code) => {
    const value = routeErrorExample(route, code, verbs)
    if (form === undefined)
      return [publicErrorCode(code), value === null ? exampleReference(code) : { value }]
    const why = { status: statusOfCode(code), body: value ?? errorExampleOf(code) }
    // What cannot be read says nothing of itself.
    const sent = UNREADABLE_BODY_CODES.includes(code) ? undefined : exampleRequestOf(route).body
    return [publicErrorCode(code), { value: form.format(why, sent) }]
  })
  return {
    description: codes.map(publicErrorCode).join(", "),
    headers: refusalHeaders(route, codes),
    content: errorContent(Object.fromEntries(examples) as JsonObject, form?.schema),
  }
}

const exampleReference = (code: RefusalCode): JsonObject => ({
  $ref: `#/components/examples/${publicErrorCode(code)}`,
})

function errorContent(examples: JsonObject, form?: ZodType): JsonObject {
  const schema =
    form === undefined ? { $ref: "#/components/schemas/ApiError" } : jsonSchemaOf(form, "output")
  return { "application/json": { schema, examples } }
}

/** What a retired path answers to everything. */
export function retiredResponses(): JsonObject {
  const content = errorContent({ gone: exampleReference("gone") })
  return { 410: { description: "gone", headers: headerReferences(["x-request-id"]), content } }
}

/** What any call can meet: even one without a body may name a `Ledger-Position` that is none. */
const COMMON_CODES: readonly ErrorCode[] = [
  "validation",
  "method_not_allowed",
  "internal",
  "overloaded",
  "stream_damaged",
  "unavailable",
]

/** Every code that can come from a route, each once. */
function refusalCodesOf(route: Route): readonly RefusalCode[] {
  const checked = [
    ...callerCodes(route),
    ...accountCodes(route),
    ...idempotencyCodes(route),
    ...bodyCodes(route),
  ]
  return [...new Set([...COMMON_CODES, ...checked, ...(route.refusalCodes ?? [])])]
}

function callerCodes({
  auth,
  operation,
  additionalOperations = [],
  roleRefusalCode,
}: Route): readonly RefusalCode[] {
  if (auth === false) return []
  const codes: RefusalCode[] = ["invalid_key", "not_allowed"]
  if (operation !== null || additionalOperations.length > 0) codes.push("operation_not_granted")
  if (roleRefusalCode !== undefined) codes.push(roleRefusalCode)
  return codes
}

function accountCodes({
  isCounted,
  isAllowedWhenLocked,
  rateLimit,
  accountRequirement,
}: Route): readonly RefusalCode[] {
  const codes: RefusalCode[] = []
  if (isCounted) codes.push("spend_limit_reached")
  if (isCounted && isAllowedWhenLocked !== true) codes.push("payment_required")
  if (rateLimit !== undefined) codes.push("rate_limited")
  if (accountRequirement !== undefined) {
    codes.push(accountRequirement === "managed" ? "needs_managed_plan" : "card_required")
  }
  return codes
}

/** `conflict`: another process carries the same request out, or took it over. */
function idempotencyCodes({ isCharged, permanentIdempotency }: Route): readonly RefusalCode[] {
  if (isCharged !== true && permanentIdempotency === undefined) return []
  const codes: RefusalCode[] = ["conflict", "idempotency_conflict"]
  return permanentIdempotency === undefined ? codes : [...codes, "idempotency_key_required"]
}

function bodyCodes({ method, body }: Route): readonly RefusalCode[] {
  if (method === "GET") return []
  return body === undefined ? ["too_large"] : ["too_large", "unsupported_media_type"]
}
