/**
 * The numbers a company holds.
 *
 * Stream `phone-<companyId>`, bounded by the company's clicks. Numbers are sealed under the
 * company's own key; a keyed hash tells equal numbers apart without reading them.
 */
import type { Decider } from "../kernel/decider.ts"
import type { FactOf, FormatTable } from "../kernel/format.ts"
import type { ValuesOf } from "../kernel/kind.ts"
import { codecOf, flag, micros, oneOf, optional, plain, text, time } from "../kernel/format.ts"
import { sealed } from "../kernel/id-kinds.ts"
import type { NumberId } from "./ids.ts"
import { numberId } from "./ids.ts"

const heldNumber = {
  numberId,
  /** The number in E.164, sealed under the company's key. */
  number: sealed,
  /** Keyed hash of the number. */
  numberTag: plain,
  kind: oneOf("local", "toll_free"),
  locality: optional(text),
  /** Two letters. */
  region: optional(plain),
  sms: flag,
  mms: flag,
  voice: flag,
  /** Rent a month. */
  monthlyMicros: micros,
  /** Rent is paid up to this instant; null for a built-in test number, which costs none. */
  paidThrough: optional(time),
  /** A built-in number of this installation, not one of a carrier. */
  test: flag,
}

/** A number as the company holds it. */
export type HeldNumber = ValuesOf<typeof heldNumber>

/** Everything that can happen to a company's numbers. */
export const phoneFormats = {
  /** The company holds a number. */
  NumberAdded: { version: 1, fields: { at: time, ...heldNumber } },
} satisfies FormatTable

/** Everything that can happen to a company's numbers. */
export type PhoneEvent = FactOf<typeof phoneFormats>

/** Writes and reads the facts about numbers. */
export const phoneCodec = codecOf(phoneFormats)

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
  decide: (command, state, { at }) => {
    const held = [...state.numbers.values()].some(
      (number) => number.numberId === command.numberId || number.numberTag === command.numberTag,
    )
    return held ? [] : [{ ...command, type: "NumberAdded", at }]
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
