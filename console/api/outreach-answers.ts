/** Answers of the operations on email, domains and leads, with the fields that pages show. */

/** Sent mails, one row per recipient, newest first. */
export interface MailList {
  readonly emails: readonly MailCopy[]
}

export interface MailCopy {
  readonly sentAt: string
  readonly mailId: string
  /** Index of the recipient in the mail, from 0. */
  readonly recipientIndex: number
  /** Null after erasure, like `to`. */
  readonly from: string | null
  readonly to: string | null
  readonly status: string
  /** Answer of the receiving server. */
  readonly code: string | null
  readonly changedAt: string
  readonly chargeId: string | null
}

export interface TestMail {
  readonly from: string
  readonly to: string
  readonly result: string
  readonly code: string | null
}

/** Addresses that the company must not write to, newest first. */
export interface SuppressionList {
  readonly suppressions: readonly Suppression[]
}

/** An address that must not be written to. */
export interface Suppression {
  readonly email: string | null
  readonly reason: "bounced" | "unsubscribed"
  readonly since: string
  /** The sending domain; null for all of the company's. */
  readonly sendingDomainId: string | null
}

/** A company's connected domains, oldest first. */
export interface DomainList {
  readonly domains: readonly ConnectedDomain[]
}

export interface ConnectedDomain {
  readonly id: string
  readonly domain: string
  readonly status: "waiting" | "live" | "moved"
  readonly nameServers: readonly string[]
  /** Name servers at its registrar at the last check; null before. */
  readonly seenNameServers: readonly string[] | null
  readonly connectedAt: string
}

/** A company's forms, oldest first. */
export interface FormList {
  readonly forms: readonly LeadForm[]
}

export interface LeadForm {
  readonly formId: string
  readonly name: string | null
  readonly status: "open" | "closed"
  readonly hostnames: readonly string[]
  readonly refuseLinks: boolean
  readonly url: string
  /** HTML for the company's own page. */
  readonly html: string
  readonly openedAt: string
}
