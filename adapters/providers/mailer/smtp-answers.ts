/** What the answers of a server of mail come to, in one transaction for one recipient (RFC 5321). */
import { isNeverSentCode, smtpOutcome } from "../request-outcome.ts"
import type { DeliveryAnswer, MailEnvelope } from "./port.ts"

/** What nodemailer's errors carry. */
interface SmtpError {
  readonly code?: string
  readonly command?: string
  readonly responseCode?: number
  readonly response?: string
  readonly originalCode?: string
  readonly timeoutType?: string
  readonly rejectedErrors?: readonly SmtpError[]
}

/** Our own settings are wrong, though the server says so as if the mail were. */
const SETTINGS_REPLY_CODES: ReadonlySet<number> = new Set([530, 535])
const SETTINGS_ERROR_CODES: ReadonlySet<string> = new Set(["EAUTH", "ETLS", "EOAUTH2"])
/** Before the server has greeted nothing can have been sent. */
const NEVER_SENT_TIMEOUTS: ReadonlySet<string> = new Set(["CONNECT_TIMEOUT", "GREETING_TIMEOUT"])
/** Nor before its certificate was believed, or where it does not speak TLS: that is our settings' fault. */
const TLS_ERROR = /CERT|SELF_SIGNED|UNABLE_TO_|WRONG_VERSION_NUMBER/

/** Replies that mean either the recipient's mailbox or a rule of the server (RFC 5321 §4.2.3). */
const MAILBOX_REPLIES: ReadonlySet<number> = new Set([550, 551, 553])
/** Words of a rejection that speak of the sender or a policy, and not of the recipient's mailbox. */
const POLICY_WORDS = /relay|polic|spam|block|denied|authenticat|reputation|blacklist/i

/** How an answer is known to be our settings' fault. */
export const SETTINGS_ERROR_CODE = "settings"

/** The code of a rejection by a rule of the server that names no status code. */
const POLICY_CODE = "policy"

/** What an error of a transaction for one recipient comes to. */
export function deliveryAnswerFromError(error: unknown): DeliveryAnswer {
  const given = error as SmtpError
  const { code = "", command, originalCode = "", timeoutType = "" } = given
  if (SETTINGS_ERROR_CODES.has(code) || TLS_ERROR.test(originalCode)) {
    return { answer: "deferred", code: SETTINGS_ERROR_CODE }
  }
  const said = command === "RCPT TO" ? (given.rejectedErrors?.[0] ?? given) : given
  const { responseCode } = said
  if (responseCode === undefined) {
    const isBefore =
      code === "EDNS" || isNeverSentCode(originalCode) || NEVER_SENT_TIMEOUTS.has(timeoutType)
    // Whether the data was sent is not said, so it may have been taken.
    return isBefore ? { answer: "deferred", code: "no_connection" } : { answer: "unknown" }
  }
  if (SETTINGS_REPLY_CODES.has(responseCode))
    return { answer: "deferred", code: SETTINGS_ERROR_CODE }
  const status = smtpStatusCode(said.response, responseCode)
  const outcome = smtpOutcome(responseCode)
  if (outcome === "not done") return { answer: "deferred", code: status }
  // A reply that says neither yes nor no: the mail may have been taken.
  if (outcome !== "rejected") return { answer: "unknown" }
  switch (command) {
    case "RCPT TO":
      return { answer: "rejected", code: status }
    case "MAIL FROM":
    case "DATA":
      return { answer: "refused", code: status }
    default:
      // It does not even begin to talk about this mail.
      return { answer: "deferred", code: status }
  }
}

/**
 * The status code behind a reply code (RFC 3463). Without one it is the reply code, or `policy` where the
 * text says that a rule of the server rejected the mail: a relay's rule must not look like a dead address.
 */
export function smtpStatusCode(response = "", responseCode: number): string {
  const status = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1]
  if (status !== undefined) return status
  const isPolicy = MAILBOX_REPLIES.has(responseCode) && POLICY_WORDS.test(response)
  return isPolicy ? POLICY_CODE : String(responseCode)
}

/**
 * How long steps of a talk may take, milliseconds; RFC 5321 asks for ten minutes behind the data. No text
 * that is handed over is ever read as the name of a file or an address to fetch.
 */
export const SMTP_DEFAULTS = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 600_000,
  disableFileAccess: true,
  disableUrlAccess: true,
} as const

/** Bytes for one recipient. Where the server knows how, it is asked to say whether they came back. */
export function smtpTransaction({ mailId, from, to }: MailEnvelope, raw: Buffer) {
  const dsn = { id: mailId, return: "headers", notify: ["failure", "delay"] }
  return { envelope: { from, to: [to] }, raw, dsn: { ...dsn, recipient: `rfc822;${to}` } }
}
