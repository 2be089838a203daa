/** Delivers mail directly to the servers of the recipients' domains (`MAIL_URL=direct:`). */
import nodemailer from "nodemailer"
import type { Resolver } from "../dns/port.ts"
import { isPublicAddress } from "../addresses/public-addresses.ts"
import { isProviderError } from "../provider-errors.ts"
import { deliveryAnswerFromError, SMTP_DEFAULTS, smtpTransaction } from "./smtp-answers.ts"
import type { MailEnvelope, DeliveryAnswer, Mailer } from "./port.ts"

export interface DirectDeliveryOptions {
  readonly resolver: Pick<Resolver, "query">
  /** The name of this machine for EHLO. */
  readonly hostName: () => string
  /** The SMTP port; default 25. */
  readonly port?: number
  /** Whether connections to an address are allowed; default: public addresses. */
  readonly isAllowed?: (address: string) => boolean
}

/** Maximum number of a domain's servers that are tried. */
const MAX_HOSTS = 5

/** The addresses of a domain's servers in order of preference, or the answer if there are none. */
type MailServers =
  | { readonly hosts: readonly { readonly host: string; readonly address: string }[] }
  | DeliveryAnswer

/**
 * Opens the delivery. The first server that answers decides. An MX record may name any machine,
 * including this one, so only public addresses are used.
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
    // Opportunistic TLS between servers: encryption without authentication (RFC 7435).
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

/** The servers of a domain, or the answer if there are none. */
async function findMailServers(
  options: DirectDeliveryOptions,
  domain: string,
): Promise<MailServers> {
  try {
    const { code, answers } = await options.resolver.query(domain, "MX")
    if (code === "NXDOMAIN") return { answer: "rejected", code: "5.1.2" }
    if (code !== "NOERROR") return { answer: "deferred", code: "4.4.3" }
    const mxRecords = answers.filter(({ type }) => type === "MX")
    // A null MX: the domain takes no mail (RFC 7505).
    if (mxRecords.length === 1 && /^\.?$/.test(mxRecords[0]?.content ?? "")) {
      return { answer: "rejected", code: "5.1.10" }
    }
    const inOrder = mxRecords.toSorted((a, b) => (a.priority ?? 0) - (b.priority ?? 0))
    const names = inOrder.map(({ content }) => content).slice(0, MAX_HOSTS)
    return await resolveServers(options, names.length === 0 ? [domain] : names)
  } catch (error) {
    if (isProviderError(error)) return { answer: "deferred", code: "4.4.3" }
    throw error
  }
}

/**
 * Resolves servers to allowed addresses. An alias is invalid as an MX target (RFC 2181). A failed
 * lookup matters only if no other server is found.
 */
async function resolveServers(
  { resolver, isAllowed = isPublicAddress }: DirectDeliveryOptions,
  names: readonly string[],
): Promise<MailServers> {
  const found = await Promise.allSettled(
    names.map(async (host) => {
      const records = await Promise.all(
        (["A", "AAAA"] as const).map(async (type) => {
          const { answers } = await resolver.query(host, type)
          return answers.filter((one) => one.type === type && one.name === host)
        }),
      )
      const addresses = records.flat().map(({ content }) => content)
      return addresses.filter(isAllowed).map((address) => ({ host, address }))
    }),
  )
  const hosts = found.flatMap((one) => (one.status === "fulfilled" ? one.value : []))
  if (hosts.length > 0) return { hosts }
  const failed = found.find((one) => one.status === "rejected")
  if (failed !== undefined) throw failed.reason
  return { answer: "rejected", code: "5.4.4" }
}
