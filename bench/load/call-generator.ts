/** Generates the calls of each kind, and validates their answers. */
import type { HttpResponse } from "../http/http-exchange.ts"
import { phoneNumberAt } from "../http/http-exchange.ts"
import type { CallKind } from "./call-mix.ts"

const TEXTS = "/api/v1/phone/messages"
const READS = [TEXTS, "/api/v1/limits", "/api/v1/account"]
/** Number of texts that are remembered to be repeated. */
const REMEMBERED = 1_000

export interface CallerKeys {
  /** Keys with room in every limit. */
  readonly fundedKeys: readonly string[]
  /** The key of a person whose limit no text fits. */
  readonly limitedKey: string
}

/** A call: its bytes, and the check of its answer. */
export interface LoadCall {
  readonly kind: CallKind
  readonly request: string
  /** Records an answer; returns its fault, or null. */
  readonly validate: (answer: HttpResponse) => string | null
}

interface SentText {
  readonly name: string
  readonly key: string
  readonly body: string
  readonly id: string
}

/** Generates the calls of one run; `run` distinguishes its names from those of other runs. */
export class CallGenerator {
  /** The id of each acknowledged text. */
  readonly acknowledged = new Set<string>()
  readonly #keys: CallerKeys
  readonly #run: string
  readonly #sent: SentText[] = []
  #made = 0
  #said = 0

  constructor(keys: CallerKeys, run: string) {
    this.#keys = keys
    this.#run = run
  }

  /** The next call of a kind; a new text if there is none to repeat yet. */
  next(kind: CallKind): LoadCall {
    const own = this.#made
    this.#made += 1
    const key = this.#keys.fundedKeys[own % this.#keys.fundedKeys.length] as string
    if (kind === "reads") return read(READS[own % READS.length] as string, key)
    if (kind === "refused") return refused(textOf(own), this.#keys.limitedKey, this.#nameOf(own))
    const earlier = kind === "retries" ? this.#sent[this.#said++ % this.#sent.length] : undefined
    if (earlier !== undefined) return retry(earlier)
    return this.#text(textOf(own), key, this.#nameOf(own))
  }

  #nameOf(own: number): string {
    return `load-${this.#run}-${own}`
  }

  #text(body: string, key: string, name: string): LoadCall {
    const validate = (answer: HttpResponse): string | null => {
      if (answer.status !== 200) return faultUnlessRetryable(answer)
      const id = idOf(answer)
      if (id === null) return "an acknowledged text has no id"
      if (this.acknowledged.has(id)) return `two texts were acknowledged as ${id}`
      this.acknowledged.add(id)
      this.#sent[(this.acknowledged.size - 1) % REMEMBERED] = { name, key, body, id }
      return null
    }
    return { kind: "texts", request: post(key, body, name), validate }
  }
}

function textOf(own: number): string {
  return JSON.stringify({ to: phoneNumberAt(own), body: `Text ${own} of many.` })
}

function read(path: string, key: string): LoadCall {
  const lines = [`GET ${path} HTTP/1.1`, "host: load", `authorization: Bearer ${key}`, "", ""]
  const validate = (answer: HttpResponse) =>
    answer.status === 200 ? null : faultUnlessRetryable(answer)
  return { kind: "reads", request: lines.join("\r\n"), validate }
}

function refused(body: string, key: string, name: string): LoadCall {
  const validate = (answer: HttpResponse) => {
    if (answer.status === 200) return "a text was accepted that its sender's limit does not pay for"
    return responseErrorCode(answer) === "spend_limit_reached" ? null : faultUnlessRetryable(answer)
  }
  return { kind: "refused", request: post(key, body, name), validate }
}

function retry({ name, key, body, id }: SentText): LoadCall {
  const validate = (answer: HttpResponse) => {
    if (answer.status !== 200) return faultUnlessRetryable(answer)
    if (idOf(answer) !== id) return `text ${id} was answered as ${idOf(answer)} when said again`
    if (/\r\nidempotency-replayed: true/i.test(answer.head)) return null
    return `text ${id} was sent again`
  }
  return { kind: "retries", request: post(key, body, name), validate }
}

function post(key: string, body: string, name: string): string {
  return [
    `POST ${TEXTS} HTTP/1.1`,
    "host: load",
    `authorization: Bearer ${key}`,
    `idempotency-key: ${name}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    "",
    body,
  ].join("\r\n")
}

/** Returns the fault of an answer; answers that a server may give at any time are counted and retried instead. */
function faultUnlessRetryable(answer: HttpResponse): string | null {
  const code = responseErrorCode(answer)
  if (answer.status === 503 || code === "rate_limited") return null
  return `it was answered ${answer.status} ${code ?? answer.body.slice(0, 100)}`
}

function idOf({ body }: HttpResponse): string | null {
  return /"id":"(\w+)"/.exec(body)?.[1] ?? null
}

/** The code of a refusal; null if the call was not refused. */
export function responseErrorCode({ body }: HttpResponse): string | null {
  return /"error":"(\w+)"/.exec(body)?.[1] ?? null
}
