/**
 * The numbers a company holds.
 *
 * Stream `phone-<companyId>`, bounded by the company's clicks. Numbers are sealed under the
 * company's own key; a keyed hash tells equal numbers apart without reading them.
 */
import type { Decider, Stamped } from "../kernel/decider.ts"
import type { Formats } from "../kernel/format.ts"
import { codecOf, flag, micros, oneOf, optional, plain, text, time } from "../kernel/format.ts"
import type { NumberId, Sealed } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"

/** A number as the company holds it. */
export interface HeldNumber {
  readonly numberId: NumberId
  /** The number in E.164, sealed under the company's key. */
  readonly number: Sealed
  /** Keyed hash of the number. */
  readonly numberTag: string
  readonly kind: "local" | "toll_free"
  readonly locality: string | null
  /** Two letters. */
  readonly region: string | null
  readonly sms: boolean
  readonly mms: boolean
  readonly voice: boolean
  /** Rent a month. */
  readonly monthlyMicros: Micros
  /** Rent is paid up to this instant; null for a built-in test number, which costs none. */
  readonly paidThrough: number | null
  /** A built-in number of this installation, not one of a carrier. */
  readonly test: boolean
}

/** The company holds a number. */
export interface NumberAdded extends HeldNumber {
  readonly type: "NumberAdded"
  readonly at: number
}

/** Everything that can happen to a company's numbers. */
export type PhoneEvent = NumberAdded

/** Gives the company a number. The same id or number again: nothing new. */
export interface AddNumber extends HeldNumber {
  readonly type: "AddNumber"
}

interface PhoneState {
  readonly numbers: Map<NumberId, HeldNumber>
}

/** A company's numbers. */
export type Phone = PhoneState

/** The rules of holding numbers. */
export const phone: Decider<AddNumber, Phone, PhoneEvent> = {
  initial: () => ({ numbers: new Map() }),
  decide: (command: AddNumber & Stamped, state) => {
    const held = [...state.numbers.values()].some(
      (number) => number.numberId === command.numberId || number.numberTag === command.numberTag,
    )
    return held ? [] : [{ ...command, type: "NumberAdded" }]
  },
  evolve: (state, event) => {
    const { type: _type, at: _at, ...number } = event
    state.numbers.set(number.numberId, number)
    return state
  },
}

/** The numbers a company holds, in the order they came. */
export function heldNumbers(state: Phone): readonly HeldNumber[] {
  return [...state.numbers.values()]
}

/** The stored form of each fact about numbers. */
export const phoneFormats: Formats<PhoneEvent> = {
  NumberAdded: {
    version: 1,
    fields: {
      at: time,
      numberId: plain,
      number: plain,
      numberTag: plain,
      kind: oneOf("local", "toll_free"),
      locality: optional(text),
      region: optional(plain),
      sms: flag,
      mms: flag,
      voice: flag,
      monthlyMicros: micros,
      paidThrough: optional(time),
      test: flag,
    },
  },
}

/** Writes and reads the facts about numbers. */
export const phoneCodec = codecOf<PhoneEvent>(phoneFormats)
