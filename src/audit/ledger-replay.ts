/**
 * Decides a ledger again: derives the command behind each fact, runs it on the state folded so far,
 * and compares the result with the stored facts.
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

interface FactContext {
  readonly revision: number
  /** Id of the command that recorded it. */
  readonly command: string
  /** Hash of the fact before it. */
  readonly previousHash: string
  /** The stored text if its format is current; null if it is older. */
  readonly text: string | null
}

interface ReplayHandlers {
  readonly onDifference: (difference: DecisionDifference) => void
  /** Called after each folded fact; refusals may refer to its revision. */
  readonly onFolded?: (revision: number) => void
  /** Called if a fact is as decided, but its text differs. */
  readonly onEncodingDifference?: (revision: number, expected: string, found: string) => void
}

export interface DecisionDifference {
  /** Revision of the fact; of a refusal, the last ledger revision it was decided on. */
  readonly revision: number
  /** Decided by the rules; null for nothing. */
  readonly expected: LedgerEvent | LedgerRefusal | null
  /** Stored; null for nothing. */
  readonly found: LedgerEvent | ChargeRefused | null
}

type Decision = readonly LedgerEvent[] | LedgerRefusal

interface PendingFact {
  readonly fact: LedgerEvent
  readonly context: FactContext
}

/** One ledger, decided again from its first fact. */
export class LedgerReplay {
  #state: LedgerState = ledgerDecider.initial()
  readonly #left = new RemainingCharges()
  /** Facts that the last command must still have recorded. */
  #expected: readonly LedgerEvent[] = []
  #next = 0
  /** Month closings, which wait for the fact of the command that caused them. */
  #closings: PendingFact[] = []
  #last = -1
  readonly #handlers: ReplayHandlers

  constructor(handlers: ReplayHandlers) {
    this.#handlers = handlers
  }

  /** The state folded so far; waiting month closings are not included. */
  get state(): LedgerState {
    return this.#state
  }

  apply(fact: LedgerEvent, context: FactContext): void {
    if (this.#next < this.#expected.length) {
      const expected = this.#expected[this.#next] as LedgerEvent
      if (expected.type === fact.type) {
        this.#next += 1
        this.#compare(expected, fact, context)
        return
      }
      this.#forget()
      this.#handlers.onDifference({ revision: context.revision, expected, found: fact })
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

  /** Ends the replay after the last fact. */
  finish(): void {
    this.#settle()
    const expected = this.#expected[this.#next]
    if (expected !== undefined)
      this.#handlers.onDifference({ revision: this.#last + 1, expected, found: null })
    this.#forget()
  }

  /** Closings without another fact came from the command `CloseMonth`. */
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
      this.#handlers.onDifference({ revision: context.revision, expected: decided, found: fact })
      for (const one of found) this.#fold(one.fact, one.context)
      return
    }
    this.#expected = decided
    this.#next = 0
    for (const { fact, context } of found) {
      const expected = this.#expected[this.#next]
      if (expected === undefined) {
        this.#handlers.onDifference({ revision: context.revision, expected: null, found: fact })
        this.#fold(fact, context)
        continue
      }
      this.#next += 1
      this.#compare(expected, fact, context)
    }
  }

  #compare(expected: LedgerEvent, fact: LedgerEvent, context: FactContext): void {
    if (!this.#isSame(expected, fact, context)) {
      this.#handlers.onDifference({ revision: context.revision, expected, found: fact })
      this.#forget()
    }
    this.#fold(fact, context)
  }

  /** Compares the texts first: equal texts mean equal facts and correct encoding. */
  #isSame(expected: LedgerEvent, fact: LedgerEvent, { revision, text }: FactContext): boolean {
    if (text === null) return isSameFact(expected, fact)
    const again = ledgerCodec.encode(expected)
    if (again === text) return true
    if (!isSameFact(expected, fact)) return false
    this.#handlers.onEncodingDifference?.(revision, again, text)
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
    this.#handlers.onFolded?.(revision)
  }
}

/**
 * Decides a refused charge again, on the state it was decided on; null if the refusal is the same.
 */
export function refusalDifference(
  state: LedgerState,
  refused: ChargeRefused,
): DecisionDifference | null {
  const decided = replayRefusedCharge(state, refused)
  const expected = isRefusal(decided) ? decided : (decided[0] ?? null)
  if (expected !== null && isSameFact(expected, refused)) return null
  return { revision: refused.ledgerRevision, expected, found: refused }
}

function isSameFact(a: Fact, b: Fact): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

// The amount left of each charge of a ledger after its refunds. An entry takes 24 bytes, so a
// million charges take 32 to 64 MB: the key is 128 bits of a SHA-256.

const INITIAL_SLOTS = 16
const KEY_WORDS = 4
/** The table grows when this share of it is full. */
const MAX_LOAD_FACTOR = 0.7

/** The amounts left of a ledger's charges. */
export class RemainingCharges {
  #keys = new Uint32Array(INITIAL_SLOTS * KEY_WORDS)
  /** Amounts in micros; `NaN` marks an empty slot. */
  #left = new Float64Array(INITIAL_SLOTS).fill(Number.NaN)
  #full = 0

  apply(fact: LedgerEvent): void {
    if (fact.type === "Charged") {
      const { chargeId, amountMicros, isAlreadyCounted, servedFrom, at } = fact
      this.#add(chargeId, isAlreadyCounted ? (servedFrom ?? at) : at, amountMicros)
    } else if (fact.type === "ChargeReduced") {
      this.#add(fact.chargeId, fact.countedAt, -fact.amountMicros)
    }
  }

  /** The amount left of a charge, in micros; 0 for an unknown charge. */
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

  /** Finds the slot of a key, or the empty slot for it. */
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

/** An id can be charged again after its charge has ended, so the instant is part of the key. */
function slotKeyOf(chargeId: ChargeId, countedAt: number): Uint32Array {
  const digest = createHash("sha256").update(`${chargeId}@${countedAt}`).digest()
  return Uint32Array.from({ length: KEY_WORDS }, (_, i) => digest.readUInt32LE(i * 4))
}
