/** Mails straight to the servers of their recipients' domains (`MAIL_URL=direct:`). */
import nodemailer from "nodemailer"
import type { Resolver } from "../dns/port.ts"
import { isPublicAddress } from "../addresses/public-addresses.ts"
import { isProviderError } from "../provider-errors.ts"
import { deliveryAnswerFromError, SMTP_DEFAULTS, smtpTransaction } from "./smtp-answers.ts"
import type { MailEnvelope, DeliveryAnswer, Mailer } from "./port.ts"

/** What it works with. */
export interface DirectDeliveryOptions {
  readonly resolver: Pick<Resolver, "query">
  /** What this machine calls itself. */
  readonly hostName: () => string
  /** Where servers of mail listen; default 25. */
  readonly port?: number
  /** Whether an address may be talked to; default the public ones. */
  readonly isAllowed?: (address: string) => boolean
}

/** So many servers of a domain are tried. */
const MAX_HOSTS = 5

/** Where a domain's mail goes: addresses in the order in which they are tried, each with its server's name. */
type MailServers =
  | { readonly hosts: readonly { readonly host: string; readonly address: string }[] }
  | DeliveryAnswer

/**
 * Opens it. The first server that answers has the say; what an MX record names is only talked to where it
 * is a public address, for it may name any machine, this one too.
 */
export function openDirectDelivery(options: DirectDeliveryOptions): Pick<Mailer, "deliver"> {
  return {
    deliver: async (envelope, bytes) => {
      const found = await findMailServers(
        options,
        envelope.to.slice(envelope.to.lastIndexOf("@") + 1),
      )
      if ("answer" in found) return found
      let answer: DeliveryAnswer = { answer: "deferred", code: "no_connection" }
      for (const { host, address } of found.hosts) {
        answer = await deliverToServer(options, { host, address }, envelope, bytes)
        if (answer.answer !== "deferred") return answer
      }
      return answer
    },
  }
}

async function deliverToServer(
  { hostName, port = 25 }: DirectDeliveryOptions,
  { host, address }: { readonly host: string; readonly address: string },
  envelope: MailEnvelope,
  bytes: Buffer,
): Promise<DeliveryAnswer> {
  const server = nodemailer.createTransport({
    ...SMTP_DEFAULTS,
    host: address,
    port,
    name: hostName(),
    secure: false,
    // Between servers TLS is used where it is offered, and keeps readers off, whoever answers (RFC 7435).
    tls: { servername: host, rejectUnauthorized: false },
  })
  try {
    await server.sendMail(smtpTransaction(envelope, bytes))
    return { answer: "accepted", isDelivered: true }
  } catch (error) {
    return deliveryAnswerFromError(error)
  } finally {
    server.close()
  }
}

/** The servers of a domain; what it comes to where there are none. */
async function findMailServers(
  options: DirectDeliveryOptions,
  domain: string,
): Promise<MailServers> {
  try {
    const { code, answers } = await options.resolver.query(domain, "MX")
    if (code === "NXDOMAIN") return { answer: "rejected", code: "5.1.2" }
    if (code !== "NOERROR") return { answer: "deferred", code: "4.4.3" }
    const named = answers.filter(({ type }) => type === "MX")
    // A domain that says by one MX without a name that it takes no mail (RFC 7505).
    if (named.length === 1 && /^\.?$/.test(named[0]?.content ?? "")) {
      return { answer: "rejected", code: "5.1.10" }
    }
    const inOrder = named.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0))
    const names = inOrder.map(({ content }) => content).slice(0, MAX_HOSTS)
    return await resolveServers(options, names.length === 0 ? [domain] : names)
  } catch (error) {
    if (isProviderError(error)) return { answer: "deferred", code: "4.4.3" }
    throw error
  }
}

/**
 * The addresses that may be talked to. A name that is an alias of another is none for mail (RFC 2181). One
 * that cannot be looked up now keeps nobody from the others; where there are none, it is tried later.
 */
async function resolveServers(
  { resolver, isAllowed = isPublicAddress }: DirectDeliveryOptions,
  names: readonly string[],
): Promise<MailServers> {
  const found = await Promise.allSettled(
    names.map(async (host) => {
      const asked = await Promise.all(
        (["A", "AAAA"] as const).map(async (type) => {
          const { answers } = await resolver.query(host, type)
          return answers.filter((one) => one.type === type && one.name === host)
        }),
      )
      const addresses = asked.flat().map(({ content }) => content)
      return addresses.filter(isAllowed).map((address) => ({ host, address }))
    }),
  )
  const hosts = found.flatMap((one) => (one.status === "fulfilled" ? one.value : []))
  if (hosts.length > 0) return { hosts }
  const failed = found.find((one) => one.status === "rejected")
  if (failed !== undefined) throw failed.reason
  return { answer: "rejected", code: "5.4.4" }
}
