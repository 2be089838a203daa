/** Callers that send texts, and retry those without an answer with the same `Idempotency-Key`. */
import { randomInt, randomUUID } from "node:crypto"
import process from "node:process"
import { setTimeout as pause } from "node:timers/promises"
import { apiCallerAt } from "../support/api-caller.ts"
import type { ApiAnswer, World } from "../support/world.ts"
import { newSignal } from "../support/signal.ts"

/** Whether this is a long run with many rounds. */
const isDeep = process.env["LEDGER_DEEP"] === "1"

/** The number of rounds in a usual run or in a long one. */
export function roundCount(usual: number, deep: number): number {
  return isDeep ? deep : usual
}

/** Pseudo-random numbers; set `LEDGER_SEED` to repeat a failed run. */
interface SeededNumbers {
  readonly seed: number
  /** A whole number from `least` to `most`, both included. */
  readonly between: (least: number, most: number) => number
}

/** Starts a new sequence, from `LEDGER_SEED` if it is set. */
export function newSeededNumbers(): SeededNumbers {
  const seed = Number(process.env["LEDGER_SEED"] ?? randomInt(2 ** 31))
  let state = seed
  return {
    seed,
    between: (least, most) => {
      // A linear congruential generator is enough, because no secret depends on it.
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return least + Math.floor((state / 2 ** 32) * (most - least + 1))
    },
  }
}

const PATH = "/api/v1/phone/messages"
/** Contains the opt-out words, so that a first text is as long as any other. */
const BODY = "Hello. Reply STOP to end."
export const PRICE_MICROS = 9_000
const CALLERS = 12
/** The longest time from a fault until calls are served again. */
export const RECOVERY_LIMIT_MS = 30_000
const BACK_OFF_MS = 20
const MAX_BACK_OFF_MS = 500
const SILENT_AFTER_MS = 20_000

/** Sends a text with an idempotency key; null if the outcome is unknown. */
export type TextSender = (name: string, to: string) => Promise<ApiAnswer | null>

/** Sends over HTTP to the server's current address; `addressNow` is null while it is down. */
export function senderOverHttp(addressNow: () => string | null, key: string): TextSender {
  return async (name, to) => {
    const address = addressNow()
    if (address === null) return null
    try {
      const call = apiCallerAt(address, { timeoutMs: SILENT_AFTER_MS })
      return await senderThroughCaller(call, key)(name, to)
    } catch (error) {
      // The connection was refused, reset, or broke within the answer.
      if (error instanceof TypeError || error instanceof SyntaxError) return null
      if (error instanceof DOMException && error.name === "TimeoutError") return null
      throw error
    }
  }
}

/** Sends through the caller of a world or a server. */
export function senderThroughCaller(call: World["call"], key: string): TextSender {
  return (name, to) =>
    call(key, "POST", PATH, { body: textBodyTo(to), headers: { "idempotency-key": name } })
}

/** The body of each text, for callers with their own client. */
export function textBodyTo(to: string): { readonly to: string; readonly body: string } {
  return { to, body: BODY }
}

/** Texts that are being sent. */
export interface TextLoad {
  /** Message ids of the accepted texts, by idempotency key. */
  readonly acknowledged: ReadonlyMap<string, string>
  /** Number of other answers by status; 0 counts missing answers. */
  readonly otherStatuses: ReadonlyMap<number, number>
  /** Resolves once this many texts are acknowledged. */
  readonly untilAcknowledged: (count: number) => Promise<void>
  /** Milliseconds from a `performance.now()` until the first later request was answered 200. */
  readonly recoveredAfterMs: (since: number) => number
  /** Resolves when all texts are acknowledged. @throws if one gets another answer, or none */
  readonly done: Promise<void>
}

/** New idempotency keys for texts. */
export function newTextKeys(count: number): readonly string[] {
  return Array.from({ length: count }, () => randomUUID())
}

/** Starts to send a text for each key; while `mayEnd` is true, callers stop without an answer. */
export function startTextLoad(
  names: readonly string[],
  send: TextSender,
  mayEnd: () => boolean = () => false,
): TextLoad {
  const acknowledged = new Map<string, string>()
  const otherStatuses = new Map<number, number>()
  const accepted: { readonly begunAt: number; readonly at: number }[] = []
  const { notify, until } = newSignal()
  const left = [...names.entries()]

  const sendUntilKnown = async (name: string, to: string): Promise<void> => {
    const last = performance.now() + 3 * RECOVERY_LIMIT_MS
    let backOffMs = BACK_OFF_MS
    while (!mayEnd()) {
      const begunAt = performance.now()
      const answer = await send(name, to)
      if (answer?.status === 200) {
        acknowledged.set(name, answer.body.id as string)
        accepted.push({ begunAt, at: performance.now() })
        notify()
        return
      }
      const status = answer?.status ?? 0
      otherStatuses.set(status, (otherStatuses.get(status) ?? 0) + 1)
      // A conflict: the first try is still being worked on, or was when its process died.
      if (![0, 409, 503].includes(status)) throw new Error(`${name}: ${JSON.stringify(answer)}`)
      if (begunAt > last) throw new Error(`${name} was never served: ${JSON.stringify(answer)}`)
      await pause(backOffMs)
      backOffMs = Math.min(2 * backOffMs, MAX_BACK_OFF_MS)
    }
  }
  const callers = Array.from({ length: CALLERS }, async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, name] = next
      if (mayEnd()) return
      await sendUntilKnown(name, `+1415555${String(1_000 + (index % 40))}`)
    }
  })
  const done = Promise.all(callers).then(() => undefined)
  return {
    acknowledged,
    otherStatuses,
    untilAcknowledged: (count) => Promise.race([until(() => acknowledged.size >= count), done]),
    recoveredAfterMs: (since) =>
      Math.min(...accepted.filter(({ begunAt }) => begunAt > since).map(({ at }) => at)) - since,
    done,
  }
}
