/**
 * The carrier: who takes texts and says what became of them.
 *
 * Every call carries our own id for the text, so sending the same again is one text.
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
}

/** What the carrier says of a text. */
export type CarrierAnswer =
  | { readonly answer: "accepted"; readonly carrierId: string }
  | { readonly answer: "rejected"; readonly errorCode: string }

/** What the carrier knows of a text by now. */
export type CarrierKnowledge =
  | CarrierAnswer
  | { readonly answer: "delivered"; readonly carrierId: string }
  | { readonly answer: "undelivered"; readonly carrierId: string; readonly errorCode: string }
  | { readonly answer: "unknown" }

/** A carrier of texts. */
export interface Carrier {
  /** Whether the same text id again is one text: then it may be handed over again where it is not known. */
  readonly isRepeatable: boolean
  /** Hands a text over. @throws ProviderUnavailable, ProviderSilent */
  readonly send: (text: OutgoingText) => Promise<CarrierAnswer>
  /** Asks what became of a text. @throws ProviderUnavailable, ProviderSilent */
  readonly ask: (textId: string) => Promise<CarrierKnowledge>
}

/** The name that the built-in carrier gives a text. */
export function builtInCarrierId(textId: string): string {
  return `builtin-${textId}`
}
