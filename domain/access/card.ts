/** A company's payment card: whether one is on file, and whether a temporary hold proved that it works. */
import { unreachable } from "../kernel/decider.ts"
import type { Micros } from "../kernel/money.ts"
import type { CardEvent, CardCheckFailure, HoldId } from "./access-events.ts"

/** Puts a card on file or updates its status. */
export interface SetCard {
  readonly type: "SetCard"
  readonly verified: boolean
  readonly failing: boolean
}

export interface RemoveCard {
  readonly type: "RemoveCard"
}

/** Records the company's id at the payment processor. Idempotent. */
export interface SetProcessorCustomer {
  readonly type: "SetProcessorCustomer"
  readonly customerId: string
}

/** Starts a card check by a temporary hold. Records nothing for a verified card or while a check is running. */
export interface StartCardCheck {
  readonly type: "StartCardCheck"
  readonly holdId: HoldId
  readonly amountMicros: Micros
}

/** Ends a card check; `failure` is null if the hold succeeded and was released. Idempotent. */
export interface EndCardCheck {
  readonly type: "EndCardCheck"
  readonly holdId: HoldId
  readonly failure: CardCheckFailure | null
}

/** Every command about a company's card. */
export type CardCommand =
  SetCard | RemoveCard | SetProcessorCustomer | StartCardCheck | EndCardCheck

export interface Card {
  readonly verified: boolean
  readonly failing: boolean
}

export interface CardCheck {
  readonly holdId: HoldId
  readonly amountMicros: Micros
  readonly startedAt: number
  /** Null while the check is running. */
  readonly outcome: "verified" | CardCheckFailure | null
}

/** A company's card and its latest check. Only the functions of this file read or change it. */
export interface CardState {
  card: Card | null
  check: CardCheck | null
  /** Whether the card or its status changed since the check started. */
  hasChangedSinceCheck: boolean
  /** The company's id at the payment processor; null if it has none. */
  customerId: string | null
}

/** Returns the state without a card or a check. */
export const emptyCardState = (): CardState => ({
  card: null,
  check: null,
  hasChangedSinceCheck: false,
  customerId: null,
})

/** Decides a command; null if it needs a card and none is on file. */
export function decideCard(
  command: CardCommand,
  { card, check, hasChangedSinceCheck, customerId: former }: CardState,
  at: number,
): readonly CardEvent[] | null {
  switch (command.type) {
    case "SetCard": {
      const { verified, failing } = command
      const isSame = card?.verified === verified && card.failing === failing
      return isSame ? [] : [{ type: "CardSet", at, verified, failing }]
    }
    case "RemoveCard":
      return card === null ? [] : [{ type: "CardRemoved", at }]
    case "SetProcessorCustomer": {
      const { customerId } = command
      return customerId === former ? [] : [{ type: "ProcessorCustomerSet", at, customerId }]
    }
    case "StartCardCheck": {
      const { holdId, amountMicros } = command
      if (card === null) return null
      const isRunning = check !== null && check.outcome === null
      if (card.verified || isRunning) return []
      return [{ type: "CardCheckStarted", at, holdId, amountMicros }]
    }
    case "EndCardCheck": {
      const { holdId, failure } = command
      if (check?.holdId !== holdId || check.outcome !== null) return []
      const code =
        failure === null && (card === null || hasChangedSinceCheck) ? "card_changed" : failure
      return code === null
        ? [{ type: "CardVerified", at, holdId }]
        : [{ type: "CardCheckFailed", at, holdId, code }]
    }
    default:
      return unreachable(command)
  }
}

/** Applies an event to the state. */
export function evolveCard(state: CardState, event: CardEvent): void {
  switch (event.type) {
    case "CardSet":
      state.card = { verified: event.verified, failing: event.failing }
      state.hasChangedSinceCheck = true
      return
    case "CardRemoved":
      state.card = null
      state.hasChangedSinceCheck = true
      return
    case "ProcessorCustomerSet":
      state.customerId = event.customerId
      return
    case "CardCheckStarted": {
      const { holdId, amountMicros, at: startedAt } = event
      state.check = { holdId, amountMicros, startedAt, outcome: null }
      state.hasChangedSinceCheck = false
      return
    }
    case "CardVerified":
      if (state.card !== null) state.card = { ...state.card, verified: true }
      endCheck(state, "verified")
      return
    case "CardCheckFailed":
      endCheck(state, event.code)
      return
    default:
      unreachable(event)
  }
}

function endCheck(state: CardState, outcome: NonNullable<CardCheck["outcome"]>): void {
  if (state.check !== null) state.check = { ...state.check, outcome }
}
