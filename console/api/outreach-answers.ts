/** What the operations of email, domains and leads answer, as far as pages show it. */

/** What a company sent by mail: a row for each recipient, the newest first. */
export interface MailList {
  readonly emails: readonly MailCopy[]
}

/** A mail to one recipient. */
export interface MailCopy {
  readonly sentAt: string
  readonly mailId: string
  /** Which recipient of the mail it is, from 0 on. */
  readonly recipientIndex: number
  /** Null once it was erased, as `to` is. */
  readonly from: string | null
  readonly to: string | null
  readonly status: string
  /** What the other side said. */
  readonly code: string | null
  readonly changedAt: string
  readonly chargeId: string | null
}

/** What became of a test mail. */
export interface TestMail {
  readonly from: string
  readonly to: string
  readonly result: string
  readonly code: string | null
}

/** Whom a company must not write to, the newest first. */
export interface SuppressionList {
  readonly suppressions: readonly Suppression[]
}

/** Somebody who must not be written to. */
export interface Suppression {
  readonly email: string | null
  readonly reason: "bounced" | "unsubscribed"
  readonly since: string
  /** From which sending domain; null for any of the company's. */
  readonly sendingDomainId: string | null
}

/** A company's connected domains, the first one first. */
export interface DomainList {
  readonly domains: readonly ConnectedDomain[]
}

/** A connected domain. */
export interface ConnectedDomain {
  readonly id: string
  readonly domain: string
  readonly status: "waiting" | "live" | "moved"
  readonly nameServers: readonly string[]
  /** What its registrar named when it was last looked at; null before. */
  readonly seenNameServers: readonly string[] | null
  readonly connectedAt: string
}

/** A company's forms, the first one first. */
export interface FormList {
  readonly forms: readonly LeadForm[]
}

/** A form by which leads come in. */
export interface LeadForm {
  readonly formId: string
  readonly name: string | null
  readonly status: "open" | "closed"
  readonly hostnames: readonly string[]
  readonly refuseLinks: boolean
  readonly url: string
  /** What stands on a page of one's own. */
  readonly html: string
  readonly openedAt: string
}
