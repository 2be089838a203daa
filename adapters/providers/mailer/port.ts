/**
 * The mailer: who takes mails for people, those of the program to a company's people as a whole, those of
 * a company to anybody as bytes, one recipient at a time.
 *
 * Every mail of the program carries our own id, and whoever has it gets it no second time: sending the
 * same again is one mail, and reaches only those whom it has not reached yet. What is handed over as bytes
 * is whoever hands it over to remember.
 */
import type { AddressTag } from "../../../domain/email/ids.ts"
import type { CompanyId, KeyId, PersonId } from "../../../domain/kernel/ids.ts"

/** A mail of the program to a company's people. */
export interface SystemMail {
  readonly mailId: string
  readonly companyId: CompanyId
  /** At least one, each person once. */
  readonly recipients: readonly { readonly personId: PersonId; readonly address: string }[]
  /** One line. */
  readonly subject: string
  readonly text: string
  /**
   * Whose name or label stands in subject and text, so that erasing them erases it there too; null
   * where nothing in it is anybody's but the company's.
   */
  readonly about: PersonId | KeyId | null
}

/** What the mailer says of a mail. */
export type SystemMailAnswer =
  | { readonly answer: "taken" }
  /** It came back from these; the others have it. */
  | { readonly answer: "bounced"; readonly from: readonly PersonId[] }
  /** Nobody got it, and the same again is of no use until somebody has mended the reason. */
  | { readonly answer: "refused"; readonly code: string }

/** From where to where bytes go: one transaction, for one recipient. */
export interface MailEnvelope {
  readonly companyId: CompanyId
  readonly mailId: string
  /** Whose key the recipient's address is sealed with, where it is remembered. */
  readonly addressTag: AddressTag
  /** Where it comes back to: an address alone. */
  readonly from: string
  /** An address alone. */
  readonly to: string
}

/** What became of bytes that were handed over. `code`: a status code, a reply code, or a word of ours. */
export type DeliveryAnswer =
  /** It was taken; delivered where it was by the recipient's own server. */
  | { readonly answer: "accepted"; readonly isDelivered: boolean }
  /** This recipient is not to be had there, ever. */
  | { readonly answer: "rejected"; readonly code: string }
  /** The mail itself is not wanted, or whom it is from. */
  | { readonly answer: "refused"; readonly code: string }
  /** Surely nothing was taken: not now, or not by our settings. */
  | { readonly answer: "deferred"; readonly code: string }
  /** It may have been taken. */
  | { readonly answer: "unknown" }

/** A mailer. */
export interface Mailer {
  /** Hands a mail of the program over. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  readonly sendSystemMail: (mail: SystemMail) => Promise<SystemMailAnswer>
  /** Hands bytes over, a whole message with lines ended by CR LF. */
  readonly deliver: (envelope: MailEnvelope, bytes: Buffer) => Promise<DeliveryAnswer>
}

/** A mailbox: a name, perhaps empty, and an address that was read before. */
export interface MailboxAddress {
  readonly name: string
  readonly address: string
}

/** What a mail says, the same for all who get it. */
export interface MessageContent {
  /** What its parts are told apart by derives from this: the same letter is the same bytes again. */
  readonly mailId: string
  readonly from: MailboxAddress
  readonly replyTo: MailboxAddress | null
  readonly subject: string
  /** At least one of the two. */
  readonly text: string | null
  readonly html: string | null
  /** UTC milliseconds. */
  readonly date: number
}

/** What differs between the copies of a letter. */
export interface MessageCopy {
  readonly to: MailboxAddress
  /** With its angle brackets. */
  readonly messageId: string
  /** Where a click says not to be written to again (RFC 8058); null for no such offer. */
  readonly unsubscribeUrl: string | null
}

/** By what a mail is signed (DKIM, RFC 6376). */
export interface DkimSigner {
  readonly domain: string
  readonly selector: string
  /** PEM. */
  readonly privateKey: string
}

/** Makes mails into bytes. */
export interface MessageComposer {
  /** Composes a letter once; answers how each copy of it is made, not signed. */
  readonly compose: (letter: MessageContent) => Promise<(copy: MessageCopy) => Buffer>
  /** Signs a copy. @throws UnsignedMail where what came of it is not signed */
  readonly sign: (copy: Buffer, signer: DkimSigner) => Promise<Buffer>
}

/** A mail was to be signed, and is not: it must not leave. */
export class UnsignedMail extends Error {
  override readonly name = "UnsignedMail"
}

/** A mail that the built-in mailer took. */
export interface SimulatedMail {
  readonly mailId: string
  readonly companyId: CompanyId
  /** The addresses; those of people who were erased are left out. */
  readonly to: readonly string[]
  /** Null once it was erased. */
  readonly subject: string | null
  readonly text: string | null
  /** When the mailer took it, by the ledger's time. */
  readonly sentAt: Date
  /** Whether it came back from somebody. */
  readonly isBounced: boolean
}

/** What the built-in mailer remembers. */
export interface SimulatedMails {
  /** The newest mails of a company, or of all (null), the newest last. */
  readonly list: (companyId: CompanyId | null, limit: number) => Promise<readonly SimulatedMail[]>
}

/** A report that a mail was not delivered, for good. */
export interface BounceReport {
  /** Whom it came back to. */
  readonly to: string
  /** Of the class 5 (RFC 3463). */
  readonly status: string
}

/** Takes reports of mails that came back. */
export interface BounceListener {
  /**
   * Listens for them until it is stopped; null where it is not to.
   *
   * @param isOurs whether anything is to come back to an address
   * @param take resolves once a report is kept: only then is it taken from whoever brought it
   * @throws StartupFault where it cannot listen
   */
  readonly listen: (
    isOurs: (to: string) => boolean,
    take: (report: BounceReport) => Promise<void>,
  ) => Promise<{ readonly port: number; readonly stop: () => Promise<void> } | null>
}
