/** The calls of each kind, and whether what was answered is right. */
import type { Exchanged } from "../http/exchange.ts"
import { numberOf } from "../http/exchange.ts"
import type { Kind } from "./mix.ts"

const TEXTS = "/api/v1/phone/messages"
const READS = [TEXTS, "/api/v1/limits", "/api/v1/account"]
/** So many texts are remembered to be said again. */
const REMEMBERED = 1_000

/** Whose keys are used. */
export interface CallerKeys {
  /** Keys with room in every limit. */
  readonly rich: readonly string[]
  /** The key of somebody whose limit no text fits. */
  readonly poor: string
}

/** A call: its bytes, and what its answer must be. */
export interface Call {
  readonly kind: Kind
  readonly request: string
  /** Takes note of an answer; says what is wrong with it, or null. */
  readonly judge: (answer: Exchanged) => string | null
}

interface Sent {
  readonly name: string
  readonly key: string
  readonly body: string
  readonly id: string
}

/** Makes calls for one run; `run` tells its names from those of other runs. */
export class Calls {
  /** The id of each text that was acknowledged. */
  readonly acknowledged = new Set<string>()
  readonly #keys: CallerKeys
  readonly #run: string
  readonly #sent: Sent[] = []
  #made = 0
  #said = 0

  constructor(keys: CallerKeys, run: string) {
    this.#keys = keys
    this.#run = run
  }

  /** The next call of a kind; a text where nothing was sent yet that could be said again. */
  next(kind: Kind): Call {
    const own = this.#made
    this.#made += 1
    const key = this.#keys.rich[own % this.#keys.rich.length] as string
    if (kind === "reads") return read(READS[own % READS.length] as string, key)
    if (kind === "refused") return refused(textOf(own), this.#keys.poor, this.#nameOf(own))
    const earlier = kind === "retries" ? this.#sent[this.#said++ % this.#sent.length] : undefined
    if (earlier !== undefined) return again(earlier)
    return this.#text(textOf(own), key, this.#nameOf(own))
  }

  #nameOf(own: number): string {
    return `load-${this.#run}-${own}`
  }

  #text(body: string, key: string, name: string): Call {
    const judge = (answer: Exchanged): string | null => {
      if (answer.status !== 200) return laterOr(answer)
      const id = idOf(answer)
      if (id === null) return "an acknowledged text has no id"
      if (this.acknowledged.has(id)) return `two texts were acknowledged as ${id}`
      this.acknowledged.add(id)
      this.#sent[(this.acknowledged.size - 1) % REMEMBERED] = { name, key, body, id }
      return null
    }
    return { kind: "texts", request: post(key, body, name), judge }
  }
}

function textOf(own: number): string {
  return JSON.stringify({ to: numberOf(own), body: `Text ${own} of many.` })
}

function read(path: string, key: string): Call {
  const lines = [`GET ${path} HTTP/1.1`, "host: load", `authorization: Bearer ${key}`, "", ""]
  const judge = (answer: Exchanged) => (answer.status === 200 ? null : laterOr(answer))
  return { kind: "reads", request: lines.join("\r\n"), judge }
}

function refused(body: string, key: string, name: string): Call {
  const judge = (answer: Exchanged) => {
    if (answer.status === 200) return "a text was accepted that its sender's limit does not pay for"
    return codeOf(answer) === "spend_limit_reached" ? null : laterOr(answer)
  }
  return { kind: "refused", request: post(key, body, name), judge }
}

function again({ name, key, body, id }: Sent): Call {
  const judge = (answer: Exchanged) => {
    if (answer.status !== 200) return laterOr(answer)
    if (idOf(answer) !== id) return `text ${id} was answered as ${idOf(answer)} when said again`
    if (/\r\nidempotency-replayed: true/i.test(answer.head)) return null
    return `text ${id} was sent again`
  }
  return { kind: "retries", request: post(key, body, name), judge }
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

/** What a server may answer at any time is not wrong: it is counted, and asked again if need be. */
function laterOr(answer: Exchanged): string | null {
  const code = codeOf(answer)
  if (answer.status === 503 || code === "rate_limited") return null
  return `it was answered ${answer.status} ${code ?? answer.body.slice(0, 100)}`
}

function idOf({ body }: Exchanged): string | null {
  return /"id":"(\w+)"/.exec(body)?.[1] ?? null
}

/** The code that a call was refused with; null where it was not. */
export function codeOf({ body }: Exchanged): string | null {
  return /"error":"(\w+)"/.exec(body)?.[1] ?? null
}
