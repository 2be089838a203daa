/**
 * The ledger decided again: every fact is asked for by the command it must have come from, on the
 * state that the facts before it fold to, and what comes out is compared with what is stored.
 */
import type { LedgerCommand, LedgerRefusal } from "../../domain/charging/ledger-commands.ts"
import type { ChargeRefused, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerCodec } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import type { RefundableAmountOf } from "../../domain/charging/replay.ts"
import { ledgerCommandOf, replayRefusedCharge } from "../../domain/charging/replay.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { canonicalJson } from "../frame/kernel/envelope.ts"
import { createHash } from "node:crypto"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"

/** Where a fact of a ledger stands, and what it follows. */
interface FactContext {
  readonly revision: number
  /** Names the command that recorded it. */
  readonly command: string
  /** The hash of the fact before it. */
  readonly previousHash: string
  /** What is stored, where it is of the form that is written now; null where it is of a former one. */
  readonly text: string | null
}

/** Who is told while a ledger is decided again. */
interface ReplayHandlers {
  readonly onDifference: (difference: DecisionDifference) => void
  /** After each fact that was folded: a no may be of its revision. */
  readonly onFolded?: (revision: number) => void
  /** A fact says what was decided, and is not written as it is written. */
  readonly onEncodingDifference?: (revision: number, expected: string, found: string) => void
}

/** A decision that comes out otherwise. */
export interface DecisionDifference {
  /** Of the fact; of a no: the ledger's last fact that it knew. */
  readonly revision: number
  /** What the rules decide: null for nothing. */
  readonly expected: LedgerEvent | LedgerRefusal | null
  /** What is stored: null for nothing. */
  readonly found: LedgerEvent | ChargeRefused | null
}

type Decision = readonly LedgerEvent[] | LedgerRefusal

interface PendingFact {
  readonly fact: LedgerEvent
  readonly context: FactContext
}

/** One ledger, decided again from its first fact on. */
export class LedgerReplay {
  #state: LedgerState = ledgerDecider.initial()
  readonly #left = new RemainingCharges()
  /** What the last command still has to have recorded. */
  #expected: readonly LedgerEvent[] = []
  #next = 0
  /** Closings of months wait for what they lead. */
  #closings: PendingFact[] = []
  #last = -1
  readonly #told: ReplayHandlers

  /** @param told hears of what comes out otherwise */
  constructor(told: ReplayHandlers) {
    this.#told = told
  }

  /** The state that all facts handed over by now fold to; closings that wait are not in it. */
  get state(): LedgerState {
    return this.#state
  }

  /** Takes the next fact of the stream. */
  apply(fact: LedgerEvent, context: FactContext): void {
    if (this.#next < this.#expected.length) {
      const expected = this.#expected[this.#next] as LedgerEvent
      if (expected.type === fact.type) {
        this.#next += 1
        this.#compare(expected, fact, context)
        return
      }
      this.#forget()
      this.#told.onDifference({ revision: context.revision, expected, found: fact })
      this.#fold(fact, context)
      return
    }
    const [first] = this.#closings
    const isLed = first?.fact.at === fact.at && first.context.command === context.command
    if (first !== undefined && !isLed) this.#settle()
    if (fact.type === "MonthClosed") {
      this.#closings.push({ fact, context })
      return
    }
    const leftOf: RefundableAmountOf = (chargeId, countedAt) =>
      this.#left.amountOf(chargeId, countedAt)
    const command = ledgerCommandOf(fact, this.#state, leftOf)
    this.#decide([...this.#closings.splice(0), { fact, context }], command)
  }

  /** Takes the end of the stream. */
  finish(): void {
    this.#settle()
    const expected = this.#expected[this.#next]
    if (expected !== undefined)
      this.#told.onDifference({ revision: this.#last + 1, expected, found: null })
    this.#forget()
  }

  /** Closings that lead nothing: the months were over, and that was all. */
  #settle(): void {
    if (this.#closings.length > 0) this.#decide(this.#closings.splice(0), { type: "CloseMonth" })
  }

  #decide(found: readonly PendingFact[], command: LedgerCommand | null): void {
    const [first] = found as [PendingFact, ...PendingFact[]]
    const { at } = first.fact
    const headHash = first.context.previousHash
    const decided: Decision =
      command === null ? [] : ledgerDecider.decide(command, this.#state, { at, headHash })
    if (isRefusal(decided)) {
      const { fact, context } = found.at(-1) as PendingFact
      this.#told.onDifference({ revision: context.revision, expected: decided, found: fact })
      for (const one of found) this.#fold(one.fact, one.context)
      return
    }
    this.#expected = decided
    this.#next = 0
    for (const { fact, context } of found) {
      const expected = this.#expected[this.#next]
      if (expected === undefined) {
        this.#told.onDifference({ revision: context.revision, expected: null, found: fact })
        this.#fold(fact, context)
        continue
      }
      this.#next += 1
      this.#compare(expected, fact, context)
    }
  }

  #compare(expected: LedgerEvent, fact: LedgerEvent, place: FactContext): void {
    if (!this.#isSame(expected, fact, place)) {
      this.#told.onDifference({ revision: place.revision, expected, found: fact })
      this.#forget()
    }
    this.#fold(fact, place)
  }

  /** The text of what is expected is compared: equal texts say the same and are written right. */
  #isSame(expected: LedgerEvent, fact: LedgerEvent, { revision, text }: FactContext): boolean {
    if (text === null) return isSameFact(expected, fact)
    const again = ledgerCodec.encode(expected)
    if (again === text) return true
    if (!isSameFact(expected, fact)) return false
    this.#told.onEncodingDifference?.(revision, again, text)
    return true
  }

  #forget(): void {
    this.#expected = []
    this.#next = 0
  }

  #fold(fact: LedgerEvent, { revision }: FactContext): void {
    this.#state = ledgerDecider.evolve(this.#state, fact)
    this.#left.apply(fact)
    this.#last = revision
    this.#told.onFolded?.(revision)
  }
}

/** A charge that was refused, asked for again on the state it was refused by; null where it differs not. */
export function refusalDifference(
  state: LedgerState,
  refused: ChargeRefused,
): DecisionDifference | null {
  const decided = replayRefusedCharge(state, refused)
  const expected = isRefusal(decided) ? decided : (decided[0] ?? null)
  if (expected !== null && isSameFact(expected, refused)) return null
  return { revision: refused.ledgerRevision, expected, found: refused }
}

/** Whether two facts say the same, field for field. */
function isSameFact(a: Fact, b: Fact): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

// The amount that is left of each charge of one ledger after its refunds, summed from the facts. An
// entry takes 24 bytes, so a million charges take 32 to 64 MB: the key is 128 bits of a SHA-256.

const INITIAL_SLOTS = 16
const KEY_WORDS = 4
/** The table grows once so much of it is full. */
const MAX_LOAD_FACTOR = 0.7

/** What is left of the charges of one ledger. */
export class RemainingCharges {
  /** The key of each slot. */
  #keys = new Uint32Array(INITIAL_SLOTS * KEY_WORDS)
  /** What is left, in micros; `NaN` where the slot is empty. */
  #left = new Float64Array(INITIAL_SLOTS).fill(Number.NaN)
  #full = 0

  /** Takes the next fact of the ledger. */
  apply(fact: LedgerEvent): void {
    if (fact.type === "Charged") {
      const { chargeId, amountMicros, isAlreadyCounted, servedFrom, at } = fact
      this.#add(chargeId, isAlreadyCounted ? (servedFrom ?? at) : at, amountMicros)
    } else if (fact.type === "ChargeReduced") {
      this.#add(fact.chargeId, fact.countedAt, -fact.amountMicros)
    }
  }

  /** What is left of a charge, in micros; 0 where there was no such charge. */
  amountOf(chargeId: ChargeId, countedAt: number): Micros {
    const left = this.#left[this.#slotOf(slotKeyOf(chargeId, countedAt))] as number
    return Number.isNaN(left) ? 0 : left
  }

  #add(chargeId: ChargeId, countedAt: number, micros: Micros): void {
    const key = slotKeyOf(chargeId, countedAt)
    const slot = this.#slotOf(key)
    const former = this.#left[slot] as number
    if (!Number.isNaN(former)) {
      this.#left[slot] = former + micros
      return
    }
    this.#put(slot, key, micros)
    this.#full += 1
    if (this.#full > this.#left.length * MAX_LOAD_FACTOR) this.#grow()
  }

  /** The slot of a key, or the empty one where it belongs. */
  #slotOf(key: Uint32Array): number {
    const slots = this.#left.length
    let slot = (key[0] as number) % slots
    while (!Number.isNaN(this.#left[slot]) && !this.#isAt(slot, key)) slot = (slot + 1) % slots
    return slot
  }

  #isAt(slot: number, key: Uint32Array): boolean {
    return key.every((word, i) => this.#keys[slot * KEY_WORDS + i] === word)
  }

  #put(slot: number, key: Uint32Array, micros: Micros): void {
    this.#keys.set(key, slot * KEY_WORDS)
    this.#left[slot] = micros
  }

  #grow(): void {
    const [keys, left] = [this.#keys, this.#left]
    this.#keys = new Uint32Array(keys.length * 2)
    this.#left = new Float64Array(left.length * 2).fill(Number.NaN)
    for (const [slot, micros] of left.entries()) {
      if (Number.isNaN(micros)) continue
      const key = keys.subarray(slot * KEY_WORDS, (slot + 1) * KEY_WORDS)
      this.#put(this.#slotOf(key), key, micros)
    }
  }
}

/** An id may be charged again once its charge has ended, so the instant is part of the key. */
function slotKeyOf(chargeId: ChargeId, countedAt: number): Uint32Array {
  const digest = createHash("sha256").update(`${chargeId}@${countedAt}`).digest()
  return Uint32Array.from({ length: KEY_WORDS }, (_, i) => digest.readUInt32LE(i * 4))
}
