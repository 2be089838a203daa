/**
 * What the keys of a company buy, drawn by a seed: the same seed gives the same calls in the same
 * order. Commands are made before the time is taken, and with everything a caller brings: ids that
 * were never seen before, in text of their own.
 */
import type { Stamped } from "../../../domain/kernel/decider.ts"
import type { Charged } from "../../../domain/charging/ledger-events.ts"
import type { Charge, LedgerCommand } from "../../../domain/charging/ledger-commands.ts"
import { NO_HASH } from "../../../src/envelope.ts"
import type { CompanySize, Key } from "./company.ts"
import { freshText, keysOf, peopleOf } from "./company.ts"

/** A command with the stamp that the writer gives it. */
export type StampedCommand = LedgerCommand & Stamped

/** Calls, and what ends their charges. */
export interface Traffic {
  /** The next calls, in the order of their time. */
  readonly charges: (count: number) => readonly (Charge & Stamped)[]
  /** The commands that end these charges: closed in batches, one in a hundred given back. */
  readonly endings: (open: readonly Charged[]) => readonly StampedCommand[]
  /** When the last call was made; before the first, when traffic begins. */
  readonly now: () => number
}

/** Time passes by this much from call to call, on average: a day has 57,600 of them. */
export const STEP_MS = 1_500
/** What a call costs on average, about. */
export const AVERAGE_MICROS = 14_000

const BEGINS = Date.UTC(2026, 10, 21, 12)
const GIVEN_BACK_EVERY = 100
const CLOSED_AT_ONCE = 100
const TEXT_MICROS = 9_000

/** Numbers from 0 to below 1, the same ones for the same seed (mulberry32). */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Traffic of a company of this size. */
export function trafficOf(size: CompanySize, seed: number): Traffic {
  // Callers bring ids of their own making: never the very objects that the limits were set with.
  const people = peopleOf(size)
  const keys = keysOf(size, people)
  const random = chance(seed)
  const drawn = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
  let at = BEGINS
  let calls = 0

  const charge = (): Charge & Stamped => {
    calls += 1
    at += Math.floor(random() * 2 * STEP_MS)
    const id = String(calls).padStart(22, "0")
    const given: Charge = {
      type: "Charge",
      chargeId: freshText(`chg_${id}`),
      ...spender(drawn(keys), drawn(people)),
      ...(random() < 0.75 ? text(random, id) : model(random)),
      priceVersion: 1,
      requestedAt: at,
      dueAt: null,
      servedFrom: null,
      exempt: null,
      searchedTo: null,
    }
    return stamped(given, at)
  }

  return {
    now: () => at,
    charges: (count) => Array.from({ length: count }, charge),
    endings: (open) => {
      const kept = open.filter((_, i) => !isGivenBack(i))
      const lost = open.filter((_, i) => isGivenBack(i))
      const batches = Math.ceil(kept.length / CLOSED_AT_ONCE)
      const closings = Array.from({ length: batches }, (_, i): LedgerCommand => {
        const some = kept.slice(i * CLOSED_AT_ONCE, (i + 1) * CLOSED_AT_ONCE)
        return { type: "CloseCharges", chargeIds: some.map(({ chargeId }) => chargeId) }
      })
      const givenBack = lost.map(({ chargeId }): LedgerCommand => {
        return { type: "GiveBack", chargeId, amountMicros: null, reason: "not_sent" }
      })
      return [...closings, ...givenBack].map((command) => stamped(command, at))
    },
  }
}

const isGivenBack = (index: number) => index % GIVEN_BACK_EVERY === 0

/** The command as the writer hands it to the decider. */
export function stamped<C extends LedgerCommand>(given: C, at: number): C & Stamped {
  const stamp = { at, headHash: NO_HASH }
  return { ...given, ...stamp }
}

/** An own key spends for its owner; the app's for whoever is signed in, one time in five nobody. */
function spender({ keyId, owner }: Key, signedIn: string) {
  if (owner !== null) return { via: "own_key" as const, keyId, personId: owner }
  const personId = signedIn.endsWith("0") || signedIn.endsWith("5") ? null : signedIn
  return { via: "shared_key" as const, keyId, personId }
}

/** A text of one to three segments: its charge stays open until the carrier has it. */
function text(random: () => number, id: string) {
  const quantity = 1 + Math.floor(random() * 3)
  return {
    class: "general" as const,
    item: "text_segment",
    quantity,
    unitPriceMicros: TEXT_MICROS,
    amountMicros: quantity * TEXT_MICROS,
    resource: freshText(`msg_${id}@${id}0123456789`),
    open: true,
  }
}

/** A model's answer of some thousand tokens: it was served, so its charge is final. */
function model(random: () => number) {
  const quantity = 1 + Math.floor(random() * 4_000)
  return {
    class: "ai" as const,
    item: "model_tokens",
    quantity,
    unitPriceMicros: 2,
    amountMicros: quantity * 2,
    resource: null,
    open: false,
  }
}
