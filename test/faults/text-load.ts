/** Callers that send texts and repeat, with the same `Idempotency-Key`, whatever got no answer. */
import { randomInt, randomUUID } from "node:crypto"
import process from "node:process"
import { setTimeout as pause } from "node:timers/promises"
import { apiCallerAt } from "../support/api-caller.ts"
import type { ApiAnswer, World } from "../support/world.ts"
import { newSignal } from "../support/signal.ts"

/** Whether there is time for many rounds. */
const isDeep = process.env["LEDGER_DEEP"] === "1"

/** So many, or so many where there is time. */
export function roundCount(usual: number, deep: number): number {
  return isDeep ? deep : usual
}

/** Numbers that follow from a seed; a run that failed is run again with `LEDGER_SEED`. */
interface SeededNumbers {
  readonly seed: number
  /** A whole number from `least` to `most`, both included. */
  readonly between: (least: number, most: number) => number
}

/** Begins anew, from `LEDGER_SEED` where that is set. */
export function newSeededNumbers(): SeededNumbers {
  const seed = Number(process.env["LEDGER_SEED"] ?? randomInt(2 ** 31))
  let state = seed
  return {
    seed,
    between: (least, most) => {
      // A linear congruential generator: nobody guards anything with it.
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return least + Math.floor((state / 2 ** 32) * (most - least + 1))
    },
  }
}

const PATH = "/api/v1/phone/messages"
/** Says itself how to stop, so that a first text is as long as any other. */
const BODY = "Hello. Reply STOP to end."
/** What each of the texts costs. */
export const PRICE_MICROS = 9_000
const CALLERS = 12
/** So long after something broke, everything must be served again. */
export const RECOVERY_LIMIT_MS = 30_000
const BACK_OFF_MS = 20
const MAX_BACK_OFF_MS = 500
const SILENT_AFTER_MS = 20_000

/** Sends a text under a name; null where nobody knows what became of it. */
export type TextSender = (name: string, to: string) => Promise<ApiAnswer | null>

/** Sends over HTTP to whatever address is the server's at that moment; null: none is. */
export function senderOverHttp(addressNow: () => string | null, key: string): TextSender {
  return async (name, to) => {
    const address = addressNow()
    if (address === null) return null
    try {
      const call = apiCallerAt(address, { timeoutMs: SILENT_AFTER_MS })
      return await senderThroughCaller(call, key)(name, to)
    } catch (error) {
      // Refused, reset, or cut off in the middle of the answer.
      if (error instanceof TypeError || error instanceof SyntaxError) return null
      if (error instanceof DOMException && error.name === "TimeoutError") return null
      throw error
    }
  }
}

/** Sends by a caller. */
export function senderThroughCaller(call: World["call"], key: string): TextSender {
  return (name, to) =>
    call(key, "POST", PATH, { body: textBodyTo(to), headers: { "idempotency-key": name } })
}

/** The body of each text, for callers that come another way. */
export function textBodyTo(to: string): { readonly to: string; readonly body: string } {
  return { to, body: BODY }
}

/** Texts being sent. */
export interface TextLoad {
  /** Name → id, of the texts that were answered 200. */
  readonly acknowledged: ReadonlyMap<string, string>
  /** Answers that were no yes, by status; 0 stands for none. */
  readonly otherStatuses: ReadonlyMap<number, number>
  /** Resolves once so many are acknowledged. */
  readonly untilAcknowledged: (count: number) => Promise<void>
  /** How long after a moment (`performance.now()`) the first request that began later was answered 200. */
  readonly recoveredAfterMs: (since: number) => number
  /** Resolves when all are acknowledged. @throws where one was answered with a fault, or never */
  readonly done: Promise<void>
}

/** New names for texts. */
export function newTextKeys(count: number): readonly string[] {
  return Array.from({ length: count }, () => randomUUID())
}

/** Begins to send a text for each name. `mayEnd`: it ends, unanswered, where that says so. */
export function startTextLoad(
  names: readonly string[],
  send: TextSender,
  mayEnd: () => boolean = () => false,
): TextLoad {
  const acknowledged = new Map<string, string>()
  const otherStatuses = new Map<number, number>()
  const yeses: { readonly begunAt: number; readonly at: number }[] = []
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
        yeses.push({ begunAt, at: performance.now() })
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
      const [place, name] = next
      if (mayEnd()) return
      await sendUntilKnown(name, `+1415555${String(1_000 + (place % 40))}`)
    }
  })
  const done = Promise.all(callers).then(() => undefined)
  return {
    acknowledged,
    otherStatuses,
    untilAcknowledged: (count) => Promise.race([until(() => acknowledged.size >= count), done]),
    recoveredAfterMs: (since) =>
      Math.min(...yeses.filter(({ begunAt }) => begunAt > since).map(({ at }) => at)) - since,
    done,
  }
}
