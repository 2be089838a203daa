/**
 * Sends mail through a relay, an SMTP server that accepts all mail and forwards it
 * (`MAIL_URL=smtps://…`).
 */
import nodemailer from "nodemailer"
import {
  SETTINGS_ERROR_CODE,
  deliveryAnswerFromError,
  SMTP_DEFAULTS,
  smtpTransaction,
} from "./smtp-answers.ts"
import type { DeliveryAnswer, Mailer } from "./port.ts"

/** How to reach the relay. */
export interface MailRelayOptions {
  /**
   * `smtps://name:password@host:port` or `smtp://…`, which must offer STARTTLS unless it is on this
   * machine.
   */
  readonly url: string
  /** Receives failures that our settings cause. */
  readonly warn: (message: string, error: unknown) => void
  /** Timeouts, milliseconds; default: those of RFC 5321. */
  readonly timeouts?: { readonly greetingTimeout: number; readonly socketTimeout: number }
}

export interface MailRelay extends Pick<Mailer, "deliver"> {
  /** Tests the connection; returns the problem, or null if there is none. */
  readonly checkConnection: () => Promise<string | null>
  readonly close: () => Promise<void>
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/

/** Opens the relay. Accepted mail is not delivered yet: a relay only promises to try. */
export function openMailRelay({ url, warn, timeouts }: MailRelayOptions): MailRelay {
  const pool = nodemailer.createTransport({
    ...transportOptions(new URL(url)),
    ...SMTP_DEFAULTS,
    ...timeouts,
    pool: true,
    maxConnections: 4,
    maxMessages: Infinity,
    // Otherwise nodemailer would send a mail again when the connection closes without a reply.
    maxRequeues: 0,
  })
  return {
    deliver: async (envelope, bytes): Promise<DeliveryAnswer> => {
      try {
        await pool.sendMail(smtpTransaction(envelope, bytes))
        return { answer: "accepted", isDelivered: false }
      } catch (error) {
        const answer = deliveryAnswerFromError(error)
        if (answer.answer === "deferred" && answer.code === SETTINGS_ERROR_CODE) {
          warn(
            "the mail relay rejected our settings; check the user, password and port of MAIL_URL",
            error,
          )
        }
        return answer
      }
    },
    checkConnection: async () => {
      try {
        await pool.verify()
        return null
      } catch (error) {
        return error instanceof Error ? error.message : String(error)
      }
    },
    close: async () => pool.close(),
  }
}

function transportOptions({ protocol, hostname, port, username, password }: URL) {
  const secure = protocol === "smtps:"
  const isLocal = LOOPBACK.test(hostname)
  const auth = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    secure,
    port: port === "" ? (secure ? 465 : 587) : Number(port),
    // Without `requireTLS` the password would be sent in clear text to a server without STARTTLS.
    ...(secure || isLocal ? {} : { requireTLS: true }),
    // Local servers have self-signed certificates, and nothing can intercept the connection.
    ...(!secure && isLocal ? { tls: { rejectUnauthorized: false } } : {}),
    ...(username === "" ? {} : { auth }),
  }
}
