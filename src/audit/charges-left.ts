/**
 * The amount that is left of each charge of one ledger after its refunds, summed from the facts. An
 * entry takes 24 bytes, so a million charges take 32 to 64 MB: the key is 128 bits of a SHA-256.
 */
import { createHash } from "node:crypto"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"

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
