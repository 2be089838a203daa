/**
 * A company's payment card: whether one is on file, and whether a sum was held on it for a moment to see
 * that it is good.
 */
import { unreachable } from "../kernel/decider.ts"
import type { Micros } from "../kernel/money.ts"
import type { CardEvent, CardCheckFailure, HoldId } from "./access-events.ts"

/** Puts a card on file, or changes how it stands. */
export interface SetCard {
  readonly type: "SetCard"
  readonly verified: boolean
  readonly failing: boolean
}

/** Takes the card off file. */
export interface RemoveCard {
  readonly type: "RemoveCard"
}

/** Says which customer of the payment processor the company is. The same again: nothing new. */
export interface SetProcessorCustomer {
  readonly type: "SetProcessorCustomer"
  /** The processor's name for it. */
  readonly customerId: string
}

/** Has a sum held on the card. One that is verified, or is looked at already: nothing new. */
export interface StartCardCheck {
  readonly type: "StartCardCheck"
  readonly holdId: HoldId
  readonly amountMicros: Micros
}

/** Says what a hold came to; `fault` is null where it was made and let go. Again: nothing new. */
export interface EndCardCheck {
  readonly type: "EndCardCheck"
  readonly holdId: HoldId
  readonly failure: CardCheckFailure | null
}

/** Everything that can be asked of a company's card. */
export type CardCommand =
  SetCard | RemoveCard | SetProcessorCustomer | StartCardCheck | EndCardCheck

/** A card on file. */
export interface Card {
  readonly verified: boolean
  readonly failing: boolean
}

/** The last look at whether the card is good. */
export interface CardCheck {
  readonly holdId: HoldId
  readonly amountMicros: Micros
  readonly startedAt: number
  /** Null where it has not come to anything yet. */
  readonly outcome: "verified" | CardCheckFailure | null
}

/** A company's card, and the last look at it. Only the functions of this file look inside. */
export interface CardState {
  card: Card | null
  check: CardCheck | null
  /** Whether the card is another, or said to stand otherwise, since the look began. */
  hasChangedSinceCheck: boolean
  /** The payment processor's name for the company; null before it was told of it. */
  customerId: string | null
}

/** No card is on file, and none was looked at. */
export const emptyCardState = (): CardState => ({
  card: null,
  check: null,
  hasChangedSinceCheck: false,
  customerId: null,
})

/** What follows from a command; null where there is no card for it. */
export function decideCard(
  command: CardCommand,
  { card, check, hasChangedSinceCheck, customerId: former }: CardState,
  at: number,
): readonly CardEvent[] | null {
  switch (command.type) {
    case "SetCard": {
      const { verified, failing } = command
      const same = card?.verified === verified && card.failing === failing
      return same ? [] : [{ type: "CardSet", at, verified, failing }]
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
      const isUnderWay = check !== null && check.outcome === null
      if (card.verified || isUnderWay) return []
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

/** Changes the file as a fact says. */
export function evolveCard(file: CardState, event: CardEvent): void {
  switch (event.type) {
    case "CardSet":
      file.card = { verified: event.verified, failing: event.failing }
      file.hasChangedSinceCheck = true
      return
    case "CardRemoved":
      file.card = null
      file.hasChangedSinceCheck = true
      return
    case "ProcessorCustomerSet":
      file.customerId = event.customerId
      return
    case "CardCheckStarted": {
      const { holdId, amountMicros, at: startedAt } = event
      file.check = { holdId, amountMicros, startedAt, outcome: null }
      file.hasChangedSinceCheck = false
      return
    }
    case "CardVerified":
      if (file.card !== null) file.card = { ...file.card, verified: true }
      endCheck(file, "verified")
      return
    case "CardCheckFailed":
      endCheck(file, event.code)
      return
    default:
      unreachable(event)
  }
}

function endCheck(file: CardState, outcome: NonNullable<CardCheck["outcome"]>): void {
  if (file.check !== null) file.check = { ...file.check, outcome }
}
