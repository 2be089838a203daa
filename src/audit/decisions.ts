/**
 * The ledger decided again: every fact is asked for by the command it must have come from, on the
 * state that the facts before it fold to, and what comes out is compared with what is stored.
 */
import type { LedgerCommand, LedgerRefusal } from "../../domain/charging/ledger-commands.ts"
import type { ChargeRefused, LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { ledgerCodec } from "../../domain/charging/ledger-formats.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import type { LeftOf } from "../../domain/charging/replayed.ts"
import { commandOfFact, decideAgain } from "../../domain/charging/replayed.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { canonicalJson } from "../frame/kernel/envelope.ts"
import { createHash } from "node:crypto"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"

/** Where a fact of a ledger stands, and what it follows. */
interface FactPlace {
  readonly revision: number
  /** Names the command that recorded it. */
  readonly command: string
  /** The hash of the fact before it. */
  readonly previousHash: string
  /** What is stored, where it is of the form that is written now; null where it is of a former one. */
  readonly text: string | null
}

/** Who is told while a ledger is decided again. */
interface ReplayListener {
  readonly differs: (difference: Difference) => void
  /** After each fact that was folded: a no may be of its revision. */
  readonly folded?: (revision: number) => void
  /** A fact says what was decided, and is not written as it is written. */
  readonly misspelt?: (revision: number, expected: string, found: string) => void
}

/** A decision that comes out otherwise. */
export interface Difference {
  /** Of the fact; of a no: the ledger's last fact that it knew. */
  readonly revision: number
  /** What the rules decide: null for nothing. */
  readonly expected: LedgerEvent | LedgerRefusal | null
  /** What is stored: null for nothing. */
  readonly found: LedgerEvent | ChargeRefused | null
}

type Decision = readonly LedgerEvent[] | LedgerRefusal

interface Waiting {
  readonly fact: LedgerEvent
  readonly place: FactPlace
}

/** One ledger, decided again from its first fact on. */
export class LedgerReplay {
  #state: Ledger = ledger.initial()
  readonly #left = new ChargesLeft()
  /** What the last command still has to have recorded. */
  #expected: readonly LedgerEvent[] = []
  #next = 0
  /** Closings of months wait for what they lead. */
  #closings: Waiting[] = []
  #last = -1
  readonly #told: ReplayListener

  /** @param told hears of what comes out otherwise */
  constructor(told: ReplayListener) {
    this.#told = told
  }

  /** The state that all facts handed over by now fold to; closings that wait are not in it. */
  get state(): Ledger {
    return this.#state
  }

  /** Takes the next fact of the stream. */
  take(fact: LedgerEvent, place: FactPlace): void {
    if (this.#next < this.#expected.length) {
      const expected = this.#expected[this.#next] as LedgerEvent
      if (expected.type === fact.type) {
        this.#next += 1
        this.#compare(expected, fact, place)
        return
      }
      this.#forget()
      this.#told.differs({ revision: place.revision, expected, found: fact })
      this.#fold(fact, place)
      return
    }
    const [first] = this.#closings
    const isLed = first?.fact.at === fact.at && first.place.command === place.command
    if (first !== undefined && !isLed) this.#settle()
    if (fact.type === "MonthClosed") {
      this.#closings.push({ fact, place })
      return
    }
    const leftOf: LeftOf = (chargeId, countedAt) => this.#left.of(chargeId, countedAt)
    const command = commandOfFact(fact, this.#state, leftOf)
    this.#decide([...this.#closings.splice(0), { fact, place }], command)
  }

  /** Takes the end of the stream. */
  end(): void {
    this.#settle()
    const expected = this.#expected[this.#next]
    if (expected !== undefined)
      this.#told.differs({ revision: this.#last + 1, expected, found: null })
    this.#forget()
  }

  /** Closings that lead nothing: the months were over, and that was all. */
  #settle(): void {
    if (this.#closings.length > 0) this.#decide(this.#closings.splice(0), { type: "CloseMonth" })
  }

  #decide(found: readonly Waiting[], command: LedgerCommand | null): void {
    const [first] = found as [Waiting, ...Waiting[]]
    const { at } = first.fact
    const headHash = first.place.previousHash
    const decided: Decision =
      command === null ? [] : ledger.decide(command, this.#state, { at, headHash })
    if (isRefusal(decided)) {
      const { fact, place } = found.at(-1) as Waiting
      this.#told.differs({ revision: place.revision, expected: decided, found: fact })
      for (const one of found) this.#fold(one.fact, one.place)
      return
    }
    this.#expected = decided
    this.#next = 0
    for (const { fact, place } of found) {
      const expected = this.#expected[this.#next]
      if (expected === undefined) {
        this.#told.differs({ revision: place.revision, expected: null, found: fact })
        this.#fold(fact, place)
        continue
      }
      this.#next += 1
      this.#compare(expected, fact, place)
    }
  }

  #compare(expected: LedgerEvent, fact: LedgerEvent, place: FactPlace): void {
    if (!this.#isSame(expected, fact, place)) {
      this.#told.differs({ revision: place.revision, expected, found: fact })
      this.#forget()
    }
    this.#fold(fact, place)
  }

  /** The text of what is expected is compared: equal texts say the same and are written right. */
  #isSame(expected: LedgerEvent, fact: LedgerEvent, { revision, text }: FactPlace): boolean {
    if (text === null) return isSame(expected, fact)
    const again = ledgerCodec.encode(expected)
    if (again === text) return true
    if (!isSame(expected, fact)) return false
    this.#told.misspelt?.(revision, again, text)
    return true
  }

  #forget(): void {
    this.#expected = []
    this.#next = 0
  }

  #fold(fact: LedgerEvent, { revision }: FactPlace): void {
    this.#state = ledger.evolve(this.#state, fact)
    this.#left.take(fact)
    this.#last = revision
    this.#told.folded?.(revision)
  }
}

/** A charge that was refused, asked for again on the state it was refused by; null where it differs not. */
export function refusedAgain(state: Ledger, refused: ChargeRefused): Difference | null {
  const decided = decideAgain(state, refused)
  const expected = isRefusal(decided) ? decided : (decided[0] ?? null)
  if (expected !== null && isSame(expected, refused)) return null
  return { revision: refused.ledgerRevision, expected, found: refused }
}

/** Whether two facts say the same, field for field. */
function isSame(a: Fact, b: Fact): boolean {
  return canonicalJson(a) === canonicalJson(b)
}

// The amount that is left of each charge of one ledger after its refunds, summed from the facts. An
// entry takes 24 bytes, so a million charges take 32 to 64 MB: the key is 128 bits of a SHA-256.

const FIRST_SLOTS = 16
const WORDS = 4
/** The table grows once so much of it is full. */
const MOST_FULL = 0.7

/** What is left of the charges of one ledger. */
export class ChargesLeft {
  /** The key of each slot. */
  #keys = new Uint32Array(FIRST_SLOTS * WORDS)
  /** What is left, in micros; `NaN` where the slot is empty. */
  #left = new Float64Array(FIRST_SLOTS).fill(Number.NaN)
  #full = 0

  /** Takes the next fact of the ledger. */
  take(fact: LedgerEvent): void {
    if (fact.type === "Charged") {
      const { chargeId, amountMicros, isAlreadyCounted, servedFrom, at } = fact
      this.#add(chargeId, isAlreadyCounted ? (servedFrom ?? at) : at, amountMicros)
    } else if (fact.type === "ChargeReduced") {
      this.#add(fact.chargeId, fact.countedAt, -fact.amountMicros)
    }
  }

  /** What is left of a charge, in micros; 0 where there was no such charge. */
  of(chargeId: ChargeId, countedAt: number): Micros {
    const left = this.#left[this.#slotOf(keyOf(chargeId, countedAt))] as number
    return Number.isNaN(left) ? 0 : left
  }

  #add(chargeId: ChargeId, countedAt: number, micros: Micros): void {
    const key = keyOf(chargeId, countedAt)
    const slot = this.#slotOf(key)
    const former = this.#left[slot] as number
    if (!Number.isNaN(former)) {
      this.#left[slot] = former + micros
      return
    }
    this.#put(slot, key, micros)
    this.#full += 1
    if (this.#full > this.#left.length * MOST_FULL) this.#grow()
  }

  /** The slot of a key, or the empty one where it belongs. */
  #slotOf(key: Uint32Array): number {
    const slots = this.#left.length
    let slot = (key[0] as number) % slots
    while (!Number.isNaN(this.#left[slot]) && !this.#isAt(slot, key)) slot = (slot + 1) % slots
    return slot
  }

  #isAt(slot: number, key: Uint32Array): boolean {
    return key.every((word, i) => this.#keys[slot * WORDS + i] === word)
  }

  #put(slot: number, key: Uint32Array, micros: Micros): void {
    this.#keys.set(key, slot * WORDS)
    this.#left[slot] = micros
  }

  #grow(): void {
    const [keys, left] = [this.#keys, this.#left]
    this.#keys = new Uint32Array(keys.length * 2)
    this.#left = new Float64Array(left.length * 2).fill(Number.NaN)
    for (const [slot, micros] of left.entries()) {
      if (Number.isNaN(micros)) continue
      const key = keys.subarray(slot * WORDS, (slot + 1) * WORDS)
      this.#put(this.#slotOf(key), key, micros)
    }
  }
}

/** An id may be charged again once its charge has ended, so the instant is part of the key. */
function keyOf(chargeId: ChargeId, countedAt: number): Uint32Array {
  const digest = createHash("sha256").update(`${chargeId}@${countedAt}`).digest()
  return Uint32Array.from({ length: WORDS }, (_, i) => digest.readUInt32LE(i * 4))
}
