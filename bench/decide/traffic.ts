/**
 * What the keys of a company buy, drawn by a seed: the same seed gives the same calls in the same
 * order. Commands are made before the time is taken, and with everything a caller brings: ids that
 * were never seen before, in text of their own.
 */
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { Charged } from "../../domain/charging/ledger-events.ts"
import type { ChargeCommand, LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { NO_HASH } from "../../src/frame/kernel/envelope.ts"
import type { CompanySize } from "./generated-company.ts"
import { ID_DIGITS, KEY_DIGITS, generateKeys, generatePeople } from "./generated-company.ts"

/** A command, and the stamp that the writer gives it. */
export interface StampedCommand<C extends LedgerCommand = LedgerCommand> {
  readonly command: C
  readonly stamp: DecisionStamp
}

/** Calls, and what ends their charges. */
export interface Traffic {
  /** The next calls, in the order of their time. */
  readonly charges: (count: number) => readonly StampedCommand<ChargeCommand>[]
  /** The commands that end these charges: closed in batches, one in a hundred given back. */
  readonly settlements: (open: readonly Charged[]) => readonly StampedCommand[]
  /** When the last call was made; before the first, when traffic begins. */
  readonly now: () => number
}

/** Time passes by this much from call to call, on average: a day has 57,600 of them. */
export const MEAN_CALL_INTERVAL_MS = 1_500
/** What a call costs on average, about. */
export const AVERAGE_MICROS = 14_000

const STARTS_AT = Date.UTC(2026, 10, 21, 12)
const REFUND_INTERVAL = 100
const SETTLE_BATCH = 100
/** Texts of some segments, and answers of a model of some thousand tokens. */
const TEXT_PART = 0.75
const MAX_SEGMENTS = 3
const SEGMENT_MICROS = 9_000
const MAX_TOKENS = 4_000
const TOKEN_MICROS = 2
const APP_PART = 0.2
const RECIPIENT_DIGITS = 32

/** Numbers from 0 to below 1, the same ones for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Traffic of a company of this size. @param begunWith calls that were made before: their ids are taken */
export function openTraffic(size: CompanySize, seed: number, begunWith = 0): Traffic {
  // Callers bring ids of their own making: never the very objects that the limits were set with.
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
      // Behind the app's key stands whoever is signed in, and sometimes nobody.
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
      // A text can still fail at the carrier; a model has answered, so its charge is final.
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
      const givenBack = lost.map(({ chargeId }): LedgerCommand => {
        return { type: "RefundPendingCharge", chargeId, amountMicros: null, reason: "not_sent" }
      })
      return [...closings, ...givenBack].map((command) => ({ command, stamp: stampOf(at) }))
    },
  }
}

const isRefunded = (index: number) => index % REFUND_INTERVAL === 0

/**
 * Ids that end in a number of so many digits, each in text of its own. They are written into one
 * place and cut out of it: waste made beside the commands would push the ledger out of the caches.
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

/** What the writer hands to the decider beside a command. */
export function stampOf(at: number): DecisionStamp {
  return { at, headHash: NO_HASH }
}
