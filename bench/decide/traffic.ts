/**
 * The calls of a company's keys, drawn by a seed: the same seed gives the same calls in the same order. Commands are
 * created before the time is taken, with new ids in texts of their own, as a caller's are.
 */
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { Charged } from "../../domain/charging/ledger-events.ts"
import type { ChargeCommand, LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { NO_HASH } from "../../src/frame/kernel/envelope.ts"
import type { CompanySize } from "./generated-company.ts"
import { ID_DIGITS, KEY_DIGITS, generateKeys, generatePeople } from "./generated-company.ts"

/** A command with the writer's stamp. */
export interface StampedCommand<C extends LedgerCommand = LedgerCommand> {
  readonly command: C
  readonly stamp: DecisionStamp
}

/** Calls, and the commands that end their charges. */
export interface Traffic {
  /** The next calls, in order of time. */
  readonly charges: (count: number) => readonly StampedCommand<ChargeCommand>[]
  /** The commands that end these charges: settled in batches, one in a hundred refunded. */
  readonly settlements: (open: readonly Charged[]) => readonly StampedCommand[]
  /** Time of the last call; before the first, the start of the traffic. */
  readonly now: () => number
}

/** Average time between calls: a day has 57,600 of them. */
export const MEAN_CALL_INTERVAL_MS = 1_500
/** Approximate average price of a call. */
export const AVERAGE_MICROS = 14_000

const STARTS_AT = Date.UTC(2026, 10, 21, 12)
const REFUND_INTERVAL = 100
const SETTLE_BATCH = 100
/** The share of texts with some segments; the others are answers of a model with some thousand tokens. */
const TEXT_PART = 0.75
const MAX_SEGMENTS = 3
const SEGMENT_MICROS = 9_000
const MAX_TOKENS = 4_000
const TOKEN_MICROS = 2
const APP_PART = 0.2
const RECIPIENT_DIGITS = 32

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Opens the traffic of a company of this size. @param begunWith number of earlier calls, whose ids are taken */
export function openTraffic(size: CompanySize, seed: number, begunWith = 0): Traffic {
  // Callers create their own ids: never the same objects as the limits have.
  const people = generatePeople(size)
  const owners = generateKeys(size, people).map(({ owner }) => owner)
  const random = seededRandom(seed)
  const drawn = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
  let at = STARTS_AT
  let calls = begunWith

  const keyIdOf = idsOf("key_", KEY_DIGITS)
  const newChargeId = idsOf("chg_", ID_DIGITS)
  const newResource = idsOf(`msg_${"0".repeat(ID_DIGITS)}@`, RECIPIENT_DIGITS)
  const charge = (): StampedCommand<ChargeCommand> => {
    calls += 1
    at += Math.floor(random() * 2 * MEAN_CALL_INTERVAL_MS)
    const key = Math.floor(random() * owners.length)
    const owner = owners[key] ?? null
    const isText = random() < TEXT_PART
    const quantity = 1 + Math.floor(random() * (isText ? MAX_SEGMENTS : MAX_TOKENS))
    const unitPriceMicros = isText ? SEGMENT_MICROS : TOKEN_MICROS
    const command: ChargeCommand = {
      type: "Charge",
      chargeId: newChargeId(calls),
      via: owner === null ? "app_key" : "own_key",
      keyId: keyIdOf(key),
      // An app key is used by the signed-in person, and sometimes without a sign-in.
      personId: owner ?? (random() < APP_PART ? null : drawn(people)),
      class: isText ? "general" : "ai",
      item: isText ? "text_segment" : "model_tokens",
      quantity,
      unitPriceMicros,
      priceVersion: 1,
      amountMicros: quantity * unitPriceMicros,
      resource: isText ? newResource(calls) : null,
      requestedAt: at,
      dueAt: null,
      servedFrom: null,
      // A text can still fail at the carrier; a model has answered, so its charge is settled.
      isPending: isText,
      exemption: null,
      searchedUpTo: null,
    }
    return { command, stamp: stampOf(at) }
  }

  return {
    now: () => at,
    charges: (count) => Array.from({ length: count }, charge),
    settlements: (open) => {
      const kept = open.filter((_, i) => !isRefunded(i))
      const lost = open.filter((_, i) => isRefunded(i))
      const batches = Math.ceil(kept.length / SETTLE_BATCH)
      const closings = Array.from({ length: batches }, (_, i): LedgerCommand => {
        const some = kept.slice(i * SETTLE_BATCH, (i + 1) * SETTLE_BATCH)
        return { type: "SettleCharges", chargeIds: some.map(({ chargeId }) => chargeId) }
      })
      const refunds = lost.map(({ chargeId }): LedgerCommand => {
        return { type: "RefundPendingCharge", chargeId, amountMicros: null, reason: "not_sent" }
      })
      return [...closings, ...refunds].map((command) => ({ command, stamp: stampOf(at) }))
    },
  }
}

const isRefunded = (index: number) => index % REFUND_INTERVAL === 0

/**
 * Returns ids that end in a number of so many digits, each in a text of its own. They are written into one buffer and cut
 * out of it: garbage created with the commands would push the ledger out of the caches.
 */
function idsOf<P extends string>(prefix: P, digits: number): (number: number) => `${P}${string}` {
  const bytes = Buffer.from(prefix + "0".repeat(digits), "latin1")
  return (number) => {
    let rest = number
    for (let i = bytes.length - 1; i >= prefix.length; i -= 1) {
      bytes[i] = 48 + (rest % 10)
      rest = Math.floor(rest / 10)
    }
    return bytes.toString("latin1") as `${P}${string}`
  }
}

/** The stamp that the writer gives the decider with a command. */
export function stampOf(at: number): DecisionStamp {
  return { at, headHash: NO_HASH }
}
