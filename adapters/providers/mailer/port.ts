/**
 * The mailer: who takes mails for people of a company.
 *
 * Every mail carries our own id, and whoever has it gets it no second time: sending the same again
 * is one mail, and reaches only those whom it has not reached yet.
 */
import type { CompanyId, KeyId, PersonId } from "../../../domain/kernel/ids.ts"

/** A mail. */
export interface Mail {
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
export type MailAnswer =
  | { readonly answer: "taken" }
  /** It came back from these; the others have it. */
  | { readonly answer: "bounced"; readonly from: readonly PersonId[] }
  /** Nobody got it, and the same again is of no use until somebody has mended the reason. */
  | { readonly answer: "refused"; readonly code: string }

/** A mailer. */
export interface Mailer {
  /** Hands a mail over. @throws ProviderUnavailable, ProviderSilent */
  readonly send: (mail: Mail) => Promise<MailAnswer>
}

/** A mail that the built-in mailer took. */
export interface SentMail {
  readonly mailId: string
  readonly companyId: CompanyId
  /** The addresses; those of people who were erased are left out. */
  readonly to: readonly string[]
  /** Null once it was erased. */
  readonly subject: string | null
  readonly text: string | null
  /** When the mailer took it, by the ledger's time. */
  readonly at: Date
  /** Whether it came back from somebody. */
  readonly bounced: boolean
}

/** What the built-in mailer remembers. */
export interface SentMails {
  /** The newest mails of a company, or of all (null), the newest last. */
  readonly list: (companyId: CompanyId | null, limit: number) => Promise<readonly SentMail[]>
}
