/**
 * Maps the replies of an SMTP server to delivery answers, for one recipient per transaction (RFC
 * 5321).
 */
import { isNeverSentCode, smtpOutcome } from "../request-outcome.ts"
import type { DeliveryAnswer, MailEnvelope } from "./port.ts"

/** The fields of nodemailer's errors. */
interface SmtpError {
  readonly code?: string
  readonly command?: string
  readonly responseCode?: number
  readonly response?: string
  readonly originalCode?: string
  readonly timeoutType?: string
  readonly rejectedErrors?: readonly SmtpError[]
}

/** Replies that are caused by our settings, although they come in reply to a mail. */
const SETTINGS_REPLY_CODES: ReadonlySet<number> = new Set([530, 535])
const SETTINGS_ERROR_CODES: ReadonlySet<string> = new Set(["EAUTH", "ETLS", "EOAUTH2"])
/** Before its greeting, nothing can have been sent to the server. */
const NEVER_SENT_TIMEOUTS: ReadonlySet<string> = new Set(["CONNECT_TIMEOUT", "GREETING_TIMEOUT"])
/**
 * Nor before its certificate was verified, or if it does not speak TLS: both are faults of our
 * settings.
 */
const TLS_ERROR = /CERT|SELF_SIGNED|UNABLE_TO_|WRONG_VERSION_NUMBER/

/** Replies that mean the recipient's mailbox or a policy of the server (RFC 5321 §4.2.3). */
const MAILBOX_REPLIES: ReadonlySet<number> = new Set([550, 551, 553])
/** Words that show a policy rejection rather than a missing mailbox. */
const POLICY_WORDS = /relay|polic|spam|block|denied|authenticat|reputation|blacklist/i

/** The code of an answer that our settings caused. */
export const SETTINGS_ERROR_CODE = "settings"

/** The code of a policy rejection without a status code. */
const POLICY_CODE = "policy"

/** Maps the error of a transaction for one recipient to an answer. */
export function deliveryAnswerFromError(error: unknown): DeliveryAnswer {
  const smtpError = error as SmtpError
  const { code = "", command, originalCode = "", timeoutType = "" } = smtpError
  if (SETTINGS_ERROR_CODES.has(code) || TLS_ERROR.test(originalCode)) {
    return { answer: "deferred", code: SETTINGS_ERROR_CODE }
  }
  const reply = command === "RCPT TO" ? (smtpError.rejectedErrors?.[0] ?? smtpError) : smtpError
  const { responseCode } = reply
  if (responseCode === undefined) {
    const isNeverSent =
      code === "EDNS" || isNeverSentCode(originalCode) || NEVER_SENT_TIMEOUTS.has(timeoutType)
    // nodemailer does not say whether the data was sent, so the mail may have been accepted.
    return isNeverSent ? { answer: "deferred", code: "no_connection" } : { answer: "unknown" }
  }
  if (SETTINGS_REPLY_CODES.has(responseCode))
    return { answer: "deferred", code: SETTINGS_ERROR_CODE }
  const status = smtpStatusCode(reply.response, responseCode)
  const outcome = smtpOutcome(responseCode)
  if (outcome === "not done") return { answer: "deferred", code: status }
  // A reply of another class: the mail may have been accepted.
  if (outcome !== "rejected") return { answer: "unknown" }
  switch (command) {
    case "RCPT TO":
      return { answer: "rejected", code: status }
    case "MAIL FROM":
    case "DATA":
      return { answer: "refused", code: status }
    default:
      // The server did not get to this mail.
      return { answer: "deferred", code: status }
  }
}

/**
 * The enhanced status code of a reply (RFC 3463). Without one, the reply code, or `policy` if the
 * text shows a policy rejection, so that a relay's rule does not look like a dead address.
 */
export function smtpStatusCode(response = "", responseCode: number): string {
  const status = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1]
  if (status !== undefined) return status
  const isPolicy = MAILBOX_REPLIES.has(responseCode) && POLICY_WORDS.test(response)
  return isPolicy ? POLICY_CODE : String(responseCode)
}

/**
 * Timeouts of an SMTP session, milliseconds; RFC 5321 requires ten minutes after the data.
 * nodemailer must not read any text as a file name or a URL.
 */
export const SMTP_DEFAULTS = {
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 600_000,
  disableFileAccess: true,
  disableUrlAccess: true,
} as const

/**
 * One transaction for one recipient. It asks for delivery status notifications if the server
 * supports them.
 */
export function smtpTransaction({ mailId, from, to }: MailEnvelope, raw: Buffer) {
  const dsn = { id: mailId, return: "headers", notify: ["failure", "delay"] }
  return { envelope: { from, to: [to] }, raw, dsn: { ...dsn, recipient: `rfc822;${to}` } }
}
