/**
 * The carrier: who takes texts and says what became of them, and who sells numbers.
 *
 * Every call carries our own id for the thing, by which it is asked about later.
 */

import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** A text for the carrier. Numbers in E.164. */
export interface OutgoingText {
  readonly textId: string
  /** Whose account pays for it. */
  readonly companyId: CompanyId
  readonly from: string
  readonly to: string
  readonly body: string
  /** Whether the number it goes from is a test one, which only the built-in carrier serves. */
  readonly isTest: boolean
}

/** A text that was handed over, as it is asked about. */
export interface SentText extends Omit<OutgoingText, "body"> {
  /** When it was recorded that it is to be sent, UTC milliseconds. */
  readonly queuedAt: number
}

/**
 * What the carrier says of a text. Why one was refused or not delivered is a word of ours where there is
 * one: `landline`, `spam`, `unreachable`, `expired`, `too_fast`, `not_registered`, `fraud`, `bad_number`,
 * `opted_out` (they texted STOP, and the carrier holds to it); else what the carrier calls it.
 */
export type CarrierAnswer =
  | { readonly answer: "accepted"; readonly carrierId: string }
  | { readonly answer: "rejected"; readonly errorCode: string }

/** What the carrier knows of a text by now. */
export type CarrierTextStatus =
  | CarrierAnswer
  | { readonly answer: "delivered"; readonly carrierId: string }
  | { readonly answer: "undelivered"; readonly carrierId: string; readonly errorCode: string }
  | { readonly answer: "unknown" }

/** What a carrier's own replies to keywords are to say. */
export interface CarrierKeywordReplies {
  readonly companyId: CompanyId
  readonly optOutReply: string
  readonly optInReply: string
  readonly helpReply: string
  readonly extraOptOutWords: readonly string[]
}

/** Takes texts. */
interface TextCarrier {
  /** Hands a text over. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly send: (text: OutgoingText) => Promise<CarrierAnswer>
  /** Asks what became of a text. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly checkTextStatus: (text: SentText) => Promise<CarrierTextStatus>
  /** Has the carrier's own replies say this. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly setKeywordReplies: (replies: CarrierKeywordReplies) => Promise<void>
  /**
   * Lets go of what it keeps of a company that is being erased: its replies, and who stopped. Nothing kept:
   * nothing. @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly eraseCompany: (companyId: CompanyId) => Promise<void>
}

/** Which numbers are looked for. */
export interface NumberSearch {
  readonly kind: "local" | "toll_free"
  /** Three digits; null for any. */
  readonly areaCode: string | null
  /** Digits, and `*` for any one; null for any. */
  readonly contains: string | null
  /** Two letters; null for any. */
  readonly region: string | null
}

/** A number that is offered; nobody promises that it can still be bought. */
export interface AvailableNumber {
  /** E.164. */
  readonly number: string
  readonly kind: "local" | "toll_free"
  readonly locality: string | null
  readonly region: string | null
  readonly sms: boolean
  readonly mms: boolean
  readonly voice: boolean
}

/** An order of a number, by our own id for it. */
export interface NumberOrder {
  readonly orderId: string
  readonly companyId: CompanyId
  /** E.164. */
  readonly number: string
}

/** A number that the carrier gave. */
type BoughtNumber = { readonly carrierRef: string } & Omit<AvailableNumber, "number" | "kind">

/** What became of an order. `settling`: the number is bought, and may yet be able to do more than is said. */
export type NumberOrderAnswer =
  | ({ readonly answer: "bought" } & BoughtNumber)
  | ({ readonly answer: "settling" } & BoughtNumber)
  | { readonly answer: "taken" }
  | { readonly answer: "pending" }

/** Sells numbers. */
interface NumberCarrier {
  /** Looks for numbers, at most so many. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly searchNumbers: (
    wanted: NumberSearch,
    most: number,
  ) => Promise<readonly AvailableNumber[]>
  /** Buys a number. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly buyNumber: (order: NumberOrder) => Promise<NumberOrderAnswer>
  /** Asks what became of an order. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly checkOrderStatus: (
    order: NumberOrder,
  ) => Promise<NumberOrderAnswer | { readonly answer: "unknown" }>
  /** Lets a number go; one that it does not have: nothing. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly releaseNumber: (carrierRef: string) => Promise<void>
}

/** A text as it came to one number. Numbers as the carrier says them, mostly E.164. */
export interface ReceivedText {
  /** The carrier's own name for it: that of a text to several numbers is one. */
  readonly carrierId: string
  /** Whether it names more numbers than this one, so that its `carrierId` alone names no copy of it. */
  readonly isGroupText: boolean
  readonly from: string
  readonly to: string
  readonly body: string
  /** How many pictures and other files came with it. */
  readonly mediaCount: number
  /** Whether the carrier answered it by itself. */
  readonly isAutoAnswered: boolean
}

/**
 * A text that came, as the carrier's books name it: one of the numbers it went to. What it says, and to whom
 * else it went, is fetched where it is not known here.
 */
export type ReceivedTextRecord = Pick<ReceivedText, "carrierId" | "from" | "to">

/** What a carrier tells by itself. */
export type CarrierEvent =
  | { readonly type: "text_came"; readonly text: ReceivedText }
  /** How a text stands that we handed over, by our own id of it. */
  | {
      readonly type: "text_news"
      readonly textId: string
      readonly from: string
      readonly to: string
      readonly status: Exclude<CarrierTextStatus, { readonly answer: "unknown" | "rejected" }>
    }
  /** Something is new of an order: it is asked about. */
  | { readonly type: "order_news"; readonly companyId: string; readonly orderId: string }

/** What a carrier called back with, as it was sent. */
export interface CarrierWebhookRequest {
  /** Path and query. */
  readonly target: string
  /** The first value of a header field; null where it was not sent. */
  readonly header: (name: string) => string | null
  readonly raw: Uint8Array
}

/** What a signature of a carrier vouches for. */
export interface CarrierWebhookEvents {
  /** UTC milliseconds, by the carrier's clock. */
  readonly signedAt: number
  /** Each by the carrier's own id of it. */
  readonly events: readonly { readonly id: string; readonly event: CarrierEvent }[]
}

/** Tells what came. */
interface IncomingTexts {
  /** What was called back; pure. `forged`: the carrier did not sign it, or not for this address. */
  readonly readWebhook: (
    call: CarrierWebhookRequest,
    now: number,
  ) => CarrierWebhookEvents | "forged"
  /**
   * Every text that came since an instant (UTC milliseconds), as far as its books show by now, page by
   * page. @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly receivedSince: (since: number) => AsyncIterable<readonly ReceivedTextRecord[]>
  /**
   * A text that came, for each number it names, ours or not; null where it is kept no longer.
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly fetchReceived: (carrierId: string) => Promise<readonly ReceivedText[] | null>
}

/** A carrier. */
export interface Carrier extends TextCarrier, NumberCarrier, IncomingTexts {
  /** Whether it is the built-in one, which reaches nobody. */
  readonly isSimulator: boolean
  /** Whether the same id again is one thing: then it may be handed over again where it is not known. */
  readonly isIdempotent: boolean
  /** Whether it answers keywords itself. */
  readonly hasKeywordReplies: boolean
  /** What it does not know so long after it was handed over it never got, milliseconds. */
  readonly notReceivedAfterMs: number
}

/** The name that the built-in carrier gives a text. */
export function simulatedCarrierId(textId: string): string {
  return `builtin-${textId}`
}

/** What comes in at a carrier that calls nobody back: nothing. */
export const NO_INCOMING_TEXTS: IncomingTexts = {
  readWebhook: () => "forged",
  receivedSince: async function* () {},
  fetchReceived: async () => null,
}
