/** The answers of a route in the OpenAPI document: bodies, examples, and what their heads carry. */
import type { ZodType } from "zod"
import type { Code, ErrorCode } from "../../routes/answers/refusal.ts"
import { errorOf, statusOf } from "../../routes/answers/refusal.ts"
import type { Json } from "./named-schemas.ts"
import { bySchemaName, namedSchema, schemaOf, typeName } from "./named-schemas.ts"
import { exampleOf, ownExampleOf } from "./examples.ts"
import { exampleOf as exampleRequestOf } from "./document-requests.ts"
import type { Route } from "../../routes/declare/route.ts"

const text = { type: "string" }

/** The headers of answers, by name. */
export const HEADERS: Readonly<Record<string, Json>> = {
  "x-request-id": {
    description: "The name of this request: what to tell whoever runs the server.",
    required: true,
    schema: text,
  },
  "Ledger-Position": {
    description:
      "Where in the ledger this was written, be it what led to a refusal: sent with a read, it waits " +
      "for that place.",
    schema: text,
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
  Allow: { description: "The verbs that there are.", required: true, schema: text },
  "Retry-After": {
    description: "So many seconds later it is worth another try.",
    required: true,
    schema: { type: "integer", minimum: 1 },
  },
}

const referred = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The head of an answer that went well. */
function headOfSuccess(route: Route): Json {
  const names = ["x-request-id"]
  const isWrite = route.method !== "GET" && route.auth !== false
  if (isWrite) names.push("Ledger-Position")
  if (route.method === "GET" && route.reads !== undefined) names.push("Ledger-Stale")
  if (route.charged === true || route.once !== undefined) names.push("Idempotency-Replayed")
  return referred(names)
}

/** The head of a refusal with one of these codes. */
function headOfRefusal(route: Route, codes: readonly Code[]): Json {
  const names = ["x-request-id"]
  if (codes.some((code) => statusOf(code) === 401)) names.push("WWW-Authenticate")
  if (codes.includes("method_not_allowed")) names.push("Allow")
  if (codes.some((code) => statusOf(code) === 503)) names.push("Retry-After")
  if (codes.some((code) => route.once?.ends.includes(code))) names.push("Idempotency-Replayed")
  const mayRecord = route.charged === true || route.once !== undefined
  const ends = [...(route.once?.ends ?? []), ...(route.refuses ?? [])]
  if (mayRecord && codes.some((code) => ends.includes(code))) names.push("Ledger-Position")
  if (!codes.includes("rate_limited")) return referred(names)
  const isAlone = codes.length === 1
  const seconds = {
    description: `${isAlone ? "A" : "With `rate_limited`, and only with it: a"} minute later the calls are counted anew.`,
    ...(isAlone ? { required: true } : {}),
    schema: { type: "integer", const: 60 },
  }
  return { ...referred(names), "Retry-After": seconds }
}

/** What routes answered when they were asked as their examples show, by a route's name and the status. */
export type Answers = Readonly<Record<string, Readonly<Record<string, unknown>>>>

/** The answers of a route, by status. */
export function responsesOf(route: Route, verbs: readonly string[], answers: Answers): Json {
  const byStatus = Map.groupBy(codesOf(route), statusOf)
  const refusals = [...byStatus].map(([status, codes]) => {
    return [status, refusalsOf(route, codes, verbs)] as const
  })
  return { ...successesOf(route, answers), ...Object.fromEntries(refusals) }
}

/** The answers of several routes on one verb and path, by status. */
export function responsesOfShapes(
  shapes: readonly Route[],
  verbs: readonly string[],
  answers: Answers,
): Json {
  const all = shapes.map((route) => {
    const responses = responsesOf(route, verbs, answers) as Record<string, Answered>
    return { shape: route.summary, responses }
  })
  const statuses = [...new Set(all.flatMap(({ responses }) => Object.keys(responses)))]
  const answersWith = (status: string) =>
    all.flatMap(({ shape, responses }) => {
      const answer = responses[status]
      return answer === undefined ? [] : [{ ...answer, shape }]
    })
  return Object.fromEntries(statuses.map((status) => [status, joined(answersWith(status))]))
}

/** A response of the document. */
interface Answered {
  readonly description: string
  readonly headers: Json
  readonly content: Readonly<Record<string, { readonly schema: Json; readonly examples?: Json }>>
}

/** The responses of several shapes with one status: any of their bodies, all of their examples. */
function joined(answers: readonly (Answered & { readonly shape: string })[]): Answered {
  const codes = [...new Set(answers.flatMap(({ description }) => description.split(", ")))]
  const contents = answers.flatMap(({ shape, content }) => {
    const json = content["application/json"]
    return json === undefined ? [] : [{ ...json, shape }]
  })
  const schemas = new Map(contents.map(({ schema }) => [JSON.stringify(schema), schema]))
  const [only, other] = schemas.values()
  const schema = other === undefined ? (only ?? {}) : { anyOf: [...schemas.values()] }
  const examples = joinedExamples(contents)
  const shown = Object.keys(examples).length === 0 ? { schema } : { schema, examples }
  return {
    description: codes.join(", "),
    headers: Object.assign({}, ...answers.map(({ headers }) => headers)) as Json,
    content: { "application/json": shown },
  }
}

/** The examples of all shapes by their codes; where a later shape says it otherwise, with its name behind. */
function joinedExamples(
  contents: readonly { readonly shape: string; readonly examples?: Json }[],
): Json {
  const byName = new Map<string, unknown>()
  const isThere = (code: string, example: unknown) =>
    [...byName].some(
      ([name, one]) => codeIn(name) === code && JSON.stringify(one) === JSON.stringify(example),
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
export const codeIn = (name: string): string => name.split(":", 1)[0] ?? name

const STATUSES: Readonly<Record<number, string>> = { 201: "Made", 202: "Begun", 206: "A part" }

function successesOf(route: Route, answers: Answers): Json {
  const schema = namedSchema(typeName(route.name, "Answer"), route.reply, "output")
  const headers = headOfSuccess(route)
  const statuses = route.success ?? [200]
  const types = (route.files ?? ["application/json"]).map((type) => type.split(";", 1)[0] as string)
  const schemaIn = (type: string) => (route.files === undefined ? schema : fileSchema(type, types))
  return Object.fromEntries(
    statuses.map((status) => {
      const description = STATUSES[status] ?? "Done"
      if (route.bodiless?.includes(status) === true)
        return [status, { description: "Taken", headers }]
      const content = types.map((type) => [
        type,
        { schema: schemaIn(type), ...exampleIn(answers, route, status, type) },
      ])
      return [status, { description, headers, content: Object.fromEntries(content) as Json }]
    }),
  )
}

const BYTES = { type: "string", format: "binary" }

/**
 * A file in a response: clients hold text as a string, and any other as its bytes. The first of a
 * route's types says what all of them are, for generators of clients read it alone.
 */
function fileSchema(type: string, types: readonly string[]): Json {
  const description = "The file"
  const kinds = new Set((type === types[0] ? types : [type]).map((one) => one.startsWith("text/")))
  if (kinds.size === 2) return bySchemaName("TextOrBytes", { description, anyOf: [text, BYTES] })
  return kinds.has(true) ? { description, ...text } : { description, ...BYTES }
}

/** The answer that is shown, by what clients call the route; of a file that of the type it was asked in. */
function exampleIn(answers: Answers, { name, files }: Route, status: number, type: string): Json {
  const shown = answers[name]?.[status]
  if (shown === undefined) return {}
  if (files === undefined) return { examples: { [name]: { value: shown } } }
  const { type: own, file } = shown as { readonly type: string; readonly file: string }
  return own === type ? { examples: { [name]: { value: file } } } : {}
}

/** The codes of bodies that nobody can read. */
const UNREADABLE: readonly Code[] = ["validation", "too_large", "unsupported_media_type"]

/** The refusals of a status: the codes it can carry, and one example a code. */
function refusalsOf(route: Route, codes: readonly Code[], verbs: readonly string[]): Json {
  // Who comes by another verb is told before there is a route.
  const form = codes.includes("method_not_allowed") ? undefined : route.errorForm
  const examples = codes.map((code) => {
    const value = ownExampleOf(route, code, verbs)
    if (form === undefined)
      return [errorOf(code), value === null ? exampleReference(code) : { value }]
    const why = { status: statusOf(code), body: value ?? exampleOf(code) }
    // What cannot be read says nothing of itself.
    const sent = UNREADABLE.includes(code) ? undefined : exampleRequestOf(route).body
    return [errorOf(code), { value: form.of(why, sent) }]
  })
  return {
    description: codes.map(errorOf).join(", "),
    headers: headOfRefusal(route, codes),
    content: errorContent(Object.fromEntries(examples) as Json, form?.schema),
  }
}

const exampleReference = (code: Code): Json => ({
  $ref: `#/components/examples/${errorOf(code)}`,
})

function errorContent(examples: Json, form?: ZodType): Json {
  const schema =
    form === undefined ? { $ref: "#/components/schemas/ApiError" } : schemaOf(form, "output")
  return { "application/json": { schema, examples } }
}

/** What a retired path answers to everything. */
export function retiredResponses(): Json {
  const content = errorContent({ gone: exampleReference("gone") })
  return { 410: { description: "gone", headers: referred(["x-request-id"]), content } }
}

/** What any call can meet: even one without a body may name a `Ledger-Position` that is none. */
const OF_ANY_CALL: readonly ErrorCode[] = [
  "validation",
  "method_not_allowed",
  "internal",
  "overloaded",
  "stream_damaged",
  "unavailable",
]

/** Every code that can come from a route, each once. */
function codesOf(route: Route): readonly Code[] {
  const checked = [...ofCaller(route), ...ofAccount(route), ...ofName(route), ...ofBody(route)]
  return [...new Set([...OF_ANY_CALL, ...checked, ...(route.refuses ?? [])])]
}

function ofCaller({ auth, operation, also = [], roleRefusal }: Route): readonly Code[] {
  if (auth === false) return []
  const codes: Code[] = ["invalid_key", "not_allowed"]
  if (operation !== null || also.length > 0) codes.push("operation_not_granted")
  if (roleRefusal !== undefined) codes.push(roleRefusal)
  return codes
}

function ofAccount({ counted, passesLock, limit, account }: Route): readonly Code[] {
  const codes: Code[] = []
  if (counted) codes.push("spend_limit_reached")
  if (counted && passesLock !== true) codes.push("payment_required")
  if (limit !== undefined) codes.push("rate_limited")
  if (account !== undefined) {
    codes.push(account === "managed" ? "needs_managed_plan" : "card_required")
  }
  return codes
}

/** `conflict`: another process carries the same request out, or took it over. */
function ofName({ charged, once }: Route): readonly Code[] {
  if (charged !== true && once === undefined) return []
  const codes: Code[] = ["conflict", "idempotency_conflict"]
  return once === undefined ? codes : [...codes, "idempotency_key_required"]
}

function ofBody({ method, body }: Route): readonly Code[] {
  if (method === "GET") return []
  return body === undefined ? ["too_large"] : ["too_large", "unsupported_media_type"]
}
