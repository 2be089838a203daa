/** A relay: a server of mail that takes all mails and passes them on (`MAIL_URL=smtps://…`). */
import nodemailer from "nodemailer"
import { SETTINGS, answerOf, EVERY_SERVER, transactionOf } from "./smtp-answers.ts"
import type { HandAnswer, Mailer } from "./port.ts"

/** How it is reached. */
export interface RelayOptions {
  /** `smtps://name:password@host:port`, or `smtp://…`, which must offer STARTTLS unless it is this machine. */
  readonly url: string
  /** Told where our settings are why it takes nothing. */
  readonly warn: (message: string, error: unknown) => void
  /** How long it may be silent, milliseconds; default as RFC 5321 asks for. */
  readonly waits?: { readonly greetingTimeout: number; readonly socketTimeout: number }
}

/** Handing over to a relay. */
export interface Relay extends Pick<Mailer, "hand"> {
  /** What is wrong with how it is reached; null where nothing is. */
  readonly fault: () => Promise<string | null>
  readonly close: () => Promise<void>
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/

/** Opens it. What it takes is not delivered yet: a relay promises only to try. */
export function openRelay({ url, warn, waits }: RelayOptions): Relay {
  const pool = nodemailer.createTransport({
    ...reached(new URL(url)),
    ...EVERY_SERVER,
    ...waits,
    pool: true,
    maxConnections: 4,
    maxMessages: Infinity,
    // It would hand a mail over again by itself whose connection was closed without a word.
    maxRequeues: 0,
  })
  return {
    hand: async (envelope, bytes): Promise<HandAnswer> => {
      try {
        await pool.sendMail(transactionOf(envelope, bytes))
        return { answer: "accepted", isDelivered: false }
      } catch (error) {
        const answer = answerOf(error)
        if (answer.answer === "deferred" && answer.code === SETTINGS) {
          warn("the relay of MAIL_URL takes no mail by these settings", error)
        }
        return answer
      }
    },
    fault: async () => {
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

function reached({ protocol, hostname, port, username, password }: URL) {
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
