/**
 * The mailer. It sends the program's own mails to a company's people, and delivers a company's
 * mails as bytes, one recipient at a time.
 *
 * The program's mails carry our id and are idempotent: sending one again reaches only recipients
 * that do not have it yet. For bytes, the caller must remember what it delivered.
 */
import type { AddressTag } from "../../../domain/email/ids.ts"
import type { CompanyId, KeyId, PersonId } from "../../../domain/kernel/ids.ts"

/** A mail of the program to people of a company. */
export interface SystemMail {
  readonly mailId: string
  readonly companyId: CompanyId
  /** At least one; no person twice. */
  readonly recipients: readonly { readonly personId: PersonId; readonly address: string }[]
  /** One line. */
  readonly subject: string
  readonly text: string
  /**
   * The person or key whose name or label is in subject and text, so that its erasure covers them;
   * null if they contain only the company's data.
   */
  readonly about: PersonId | KeyId | null
}

export type SystemMailAnswer =
  | { readonly answer: "accepted" }
  /** The mail bounced for these people; the others have it. */
  | { readonly answer: "bounced"; readonly from: readonly PersonId[] }
  /** The mail reached no recipient, and a retry does not help until the cause is fixed. */
  | { readonly answer: "rejected"; readonly code: string }

/** Sender and recipient of one SMTP transaction. */
export interface MailEnvelope {
  readonly companyId: CompanyId
  readonly mailId: string
  /** The subject whose key seals the recipient's address where it is stored. */
  readonly addressTag: AddressTag
  /** The return path: an address without a name. */
  readonly from: string
  readonly to: string
}

/** The outcome of a delivery. `code`: a status code, a reply code, or a word of ours. */
export type DeliveryAnswer =
  /** Accepted; `isDelivered` if the recipient's own server accepted it. */
  | { readonly answer: "accepted"; readonly isDelivered: boolean }
  /** The recipient cannot be reached at this address, permanently. */
  | { readonly answer: "rejected"; readonly code: string }
  /** The server refuses the mail or its sender. */
  | { readonly answer: "refused"; readonly code: string }
  /** Nothing was accepted: temporarily, or because of our settings. */
  | { readonly answer: "deferred"; readonly code: string }
  /** The server may have accepted it. */
  | { readonly answer: "unknown" }

export interface Mailer {
  /** Sends a mail of the program. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly sendSystemMail: (mail: SystemMail) => Promise<SystemMailAnswer>
  /** Delivers a complete message with CR LF line endings. */
  readonly deliver: (envelope: MailEnvelope, bytes: Buffer) => Promise<DeliveryAnswer>
}

/** A mailbox: a name, which may be empty, and a validated address. */
export interface MailboxAddress {
  readonly name: string
  readonly address: string
}

/** The content of a mail, the same for all recipients. */
export interface MessageContent {
  /** Source of the MIME boundaries, so that the same mail always has the same bytes. */
  readonly mailId: string
  readonly from: MailboxAddress
  readonly replyTo: MailboxAddress | null
  readonly subject: string
  /** At least one of the two is set. */
  readonly text: string | null
  readonly html: string | null
  /** UTC milliseconds. */
  readonly date: number
}

/** The differences between the copies of a mail. */
export interface MessageCopy {
  readonly to: MailboxAddress
  /** Includes the angle brackets. */
  readonly messageId: string
  /** The one-click unsubscribe address (RFC 8058); null for none. */
  readonly unsubscribeUrl: string | null
}

/** The key of a DKIM signature (RFC 6376). */
export interface DkimSigner {
  readonly domain: string
  readonly selector: string
  /** PEM. */
  readonly privateKey: string
}

/** Composes mails as bytes. */
export interface MessageComposer {
  /** Composes a mail once and returns a function that makes its unsigned copies. */
  readonly compose: (letter: MessageContent) => Promise<(copy: MessageCopy) => Buffer>
  /** Signs a copy. @throws UnsignedMail if the result is not signed */
  readonly sign: (copy: Buffer, signer: DkimSigner) => Promise<Buffer>
}

/** Signing a mail failed; it must not be sent. */
export class UnsignedMail extends Error {
  override readonly name = "UnsignedMail"
}

export interface SimulatedMail {
  readonly mailId: string
  readonly companyId: CompanyId
  /** The addresses, without those of erased people. */
  readonly to: readonly string[]
  /** Null after erasure. */
  readonly subject: string | null
  readonly text: string | null
  /** When the mailer accepted it, by the ledger's clock. */
  readonly sentAt: Date
  /** Whether it bounced for any recipient. */
  readonly isBounced: boolean
}

export interface SimulatedMails {
  /** The newest mails of a company, or of all (null), oldest first. */
  readonly list: (companyId: CompanyId | null, limit: number) => Promise<readonly SimulatedMail[]>
}

/** A report that a mail was permanently undeliverable. */
export interface BounceReport {
  /** The return address that the report was sent to. */
  readonly to: string
  /** Of class 5 (RFC 3463). */
  readonly status: string
}

/** Receives reports of bounced mails. */
export interface BounceListener {
  /**
   * Listens until stopped; null if it is not configured to listen.
   *
   * @param isOurs whether reports to an address are accepted
   * @param store resolves when a report is stored; only then is it accepted from its sender
   * @throws StartupFault if it cannot listen
   */
  readonly listen: (
    isOurs: (to: string) => boolean,
    store: (report: BounceReport) => Promise<void>,
  ) => Promise<{ readonly port: number; readonly stop: () => Promise<void> } | null>
}
