/**
 * The carrier sends texts and sells phone numbers.
 *
 * Every call carries our own id, by which its status is checked later.
 */

import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** A text to send. Numbers are in E.164. */
export interface OutgoingText {
  readonly textId: string
  /** The company that pays for it. */
  readonly companyId: CompanyId
  readonly from: string
  readonly to: string
  readonly body: string
  /** Whether it is sent from a test number, which only the simulator serves. */
  readonly isTest: boolean
}

/** A sent text, for a status check. */
export interface SentText extends Omit<OutgoingText, "body"> {
  /** When the text was recorded for sending, UTC milliseconds. */
  readonly queuedAt: number
}

/**
 * The carrier's answer for a text. Error codes are our own where one exists: `landline`, `spam`,
 * `unreachable`, `expired`, `too_fast`, `not_registered`, `fraud`, `bad_number`, `opted_out` (the
 * recipient texted STOP, and the carrier blocks us); otherwise the carrier's code.
 */
export type CarrierAnswer =
  | { readonly answer: "accepted"; readonly carrierId: string }
  | { readonly answer: "rejected"; readonly errorCode: string }

export type CarrierTextStatus =
  | CarrierAnswer
  | { readonly answer: "delivered"; readonly carrierId: string }
  | { readonly answer: "undelivered"; readonly carrierId: string; readonly errorCode: string }
  | { readonly answer: "unknown" }

/** The texts of the carrier's automatic replies to keywords. */
export interface CarrierKeywordReplies {
  readonly companyId: CompanyId
  readonly optOutReply: string
  readonly optInReply: string
  readonly helpReply: string
  readonly extraOptOutWords: readonly string[]
}

interface TextCarrier {
  /** Sends a text. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly send: (text: OutgoingText) => Promise<CarrierAnswer>
  /** Checks the status of a text. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly checkTextStatus: (text: SentText) => Promise<CarrierTextStatus>
  /** Sets the carrier's automatic replies. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly setKeywordReplies: (replies: CarrierKeywordReplies) => Promise<void>
  /**
   * Deletes a company's replies and opt-outs at the carrier because the company is erased;
   * idempotent. @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly eraseCompany: (companyId: CompanyId) => Promise<void>
}

export interface NumberSearch {
  readonly kind: "local" | "toll_free"
  /** Three digits; null for any. */
  readonly areaCode: string | null
  /** Digits, and `*` for any digit; null for any. */
  readonly contains: string | null
  /** Two letters; null for any. */
  readonly region: string | null
}

/** A number for sale, not reserved. */
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

/** An order of a number, by our own id. */
export interface NumberOrder {
  readonly orderId: string
  readonly companyId: CompanyId
  /** E.164. */
  readonly number: string
}

/** A number that the carrier sold to us. */
type BoughtNumber = { readonly carrierRef: string } & Omit<AvailableNumber, "number" | "kind">

/**
 * The result of an order. `settling`: the number is bought, and further features may be added to
 * it.
 */
export type NumberOrderAnswer =
  | ({ readonly answer: "bought" } & BoughtNumber)
  | ({ readonly answer: "settling" } & BoughtNumber)
  | { readonly answer: "taken" }
  | { readonly answer: "pending" }

interface NumberCarrier {
  /** Searches for numbers. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly searchNumbers: (
    search: NumberSearch,
    limit: number,
  ) => Promise<readonly AvailableNumber[]>
  /** Buys a number. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly buyNumber: (order: NumberOrder) => Promise<NumberOrderAnswer>
  /** Checks the status of an order. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly checkOrderStatus: (
    order: NumberOrder,
  ) => Promise<NumberOrderAnswer | { readonly answer: "unknown" }>
  /** Releases a number; idempotent. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly releaseNumber: (carrierRef: string) => Promise<void>
}

/** A text received by one number. Numbers as the carrier reports them, mostly E.164. */
export interface ReceivedText {
  /** The carrier's id; a text to several numbers has one id. */
  readonly carrierId: string
  /**
   * Whether the text went to several numbers, so that `carrierId` alone does not identify a copy.
   */
  readonly isGroupText: boolean
  readonly from: string
  readonly to: string
  readonly body: string
  /** Number of attached pictures and other files. */
  readonly mediaCount: number
  /** Whether the carrier replied automatically. */
  readonly isAutoAnswered: boolean
}

/**
 * A received text in the carrier's records, for one of its recipients. Its body and the other
 * recipients have to be fetched.
 */
export type ReceivedTextRecord = Pick<ReceivedText, "carrierId" | "from" | "to">

export type CarrierEvent =
  | { readonly type: "text_came"; readonly text: ReceivedText }
  /** The status of a text that we sent, by our own id. */
  | {
      readonly type: "text_news"
      readonly textId: string
      readonly from: string
      readonly to: string
      readonly status: Exclude<CarrierTextStatus, { readonly answer: "unknown" | "rejected" }>
    }
  /** An order changed; its status has to be checked. */
  | { readonly type: "order_news"; readonly companyId: string; readonly orderId: string }

export interface CarrierWebhookRequest {
  /** Path and query. */
  readonly target: string
  /** The first value of a header field; null if it is missing. */
  readonly header: (name: string) => string | null
  readonly raw: Uint8Array
}

export interface CarrierWebhookEvents {
  /** UTC milliseconds, by the carrier's clock. */
  readonly signedAt: number
  /** Each with the carrier's event id. */
  readonly events: readonly { readonly id: string; readonly event: CarrierEvent }[]
}

interface IncomingTexts {
  /** The events of a webhook; pure. `forged`: the signature is invalid or for another address. */
  readonly readWebhook: (
    call: CarrierWebhookRequest,
    now: number,
  ) => CarrierWebhookEvents | "forged"
  /**
   * All texts received since an instant (UTC milliseconds) that the carrier's records show so far,
   * page by page. @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly receivedSince: (since: number) => AsyncIterable<readonly ReceivedTextRecord[]>
  /**
   * A received text, once per recipient, ours or not; null if the carrier no longer has it.
   * @throws ProviderUnavailable, ProviderOutcomeUnknown
   */
  readonly fetchReceived: (carrierId: string) => Promise<readonly ReceivedText[] | null>
}

export interface Carrier extends TextCarrier, NumberCarrier, IncomingTexts {
  /** Whether this is the simulator. */
  readonly isSimulator: boolean
  /**
   * Whether the same id twice is one text or order, so that it may be sent again after an unknown
   * outcome.
   */
  readonly isIdempotent: boolean
  /** Whether the carrier replies to keywords itself. */
  readonly hasKeywordReplies: boolean
  /** A text that the carrier does not know after this time was never received, milliseconds. */
  readonly notReceivedAfterMs: number
}

/** The simulator's id of a text. */
export function simulatedCarrierId(textId: string): string {
  return `builtin-${textId}`
}

/** The incoming side of a carrier without webhooks. */
export const NO_INCOMING_TEXTS: IncomingTexts = {
  readWebhook: () => "forged",
  receivedSince: async function* () {},
  fetchReceived: async () => null,
}
