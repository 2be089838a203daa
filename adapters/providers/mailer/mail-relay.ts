/** A relay: a server of mail that takes all mails and passes them on (`MAIL_URL=smtps://…`). */
import nodemailer from "nodemailer"
import {
  SETTINGS_ERROR_CODE,
  deliveryAnswerFromError,
  SMTP_DEFAULTS,
  smtpTransaction,
} from "./smtp-answers.ts"
import type { DeliveryAnswer, Mailer } from "./port.ts"

/** How it is reached. */
export interface MailRelayOptions {
  /** `smtps://name:password@host:port`, or `smtp://…`, which must offer STARTTLS unless it is this machine. */
  readonly url: string
  /** Told where our settings are why it takes nothing. */
  readonly warn: (message: string, error: unknown) => void
  /** How long it may be silent, milliseconds; default as RFC 5321 asks for. */
  readonly timeouts?: { readonly greetingTimeout: number; readonly socketTimeout: number }
}

/** Handing over to a relay. */
export interface MailRelay extends Pick<Mailer, "deliver"> {
  /** What is wrong with how it is reached; null where nothing is. */
  readonly checkConnection: () => Promise<string | null>
  readonly close: () => Promise<void>
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/

/** Opens it. What it takes is not delivered yet: a relay promises only to try. */
export function openMailRelay({ url, warn, timeouts }: MailRelayOptions): MailRelay {
  const pool = nodemailer.createTransport({
    ...transportOptions(new URL(url)),
    ...SMTP_DEFAULTS,
    ...timeouts,
    pool: true,
    maxConnections: 4,
    maxMessages: Infinity,
    // It would hand a mail over again by itself whose connection was closed without a word.
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
          warn("the relay of MAIL_URL takes no mail by these settings", error)
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
  const isHere = LOOPBACK.test(hostname)
  const auth = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    secure,
    port: port === "" ? (secure ? 465 : 587) : Number(port),
    // Without it the password would go in clear to whoever offers no STARTTLS.
    ...(secure || isHere ? {} : { requireTLS: true }),
    // Servers on a machine of their own have certificates that nobody vouches for, and nobody is between.
    ...(!secure && isHere ? { tls: { rejectUnauthorized: false } } : {}),
    ...(username === "" ? {} : { auth }),
  }
}
