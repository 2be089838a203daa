/** The mailer: a relay or direct delivery if `MAIL_URL` is set, otherwise the simulator. */
import { domainToASCII } from "node:url"
import { openBounceListener } from "../../../adapters/providers/mailer/bounce-listener.ts"
import {
  MAIL_SIMULATOR,
  openSimulatedMailer,
} from "../../../adapters/providers/mailer/simulator.ts"
import { messageComposer } from "../../../adapters/providers/mailer/message-composer.ts"
import type {
  BounceListener,
  MessageComposer,
  Mailer,
  MailboxAddress,
  SimulatedMails,
} from "../../../adapters/providers/mailer/port.ts"
import { parseMailbox } from "../../../domain/email/mailbox.ts"
import type { Ports } from "../../frame/ports.ts"
import type { ProviderContext, Provider } from "../../frame/provider.ts"
import { DIRECT_DELIVERY, mailSettings } from "../settings.ts"
import type { DoctorContext, DoctorFinding } from "../../frame/operator/cli/doctor-finding.ts"
import { okFinding } from "../../frame/operator/cli/doctor-finding.ts"

const CHECK = "mail"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly mailer: Mailer
    readonly composer: MessageComposer
    readonly bounces: BounceListener
    /** The mails that the simulator accepted. */
    readonly simulatedMails: SimulatedMails
  }
}

/** Provides the mailer. */
export const mailerProvider: Provider = {
  from: import.meta.url,
  name: "mailer",
  chosenBy: (given) => (given["MAIL_URL"] === undefined ? null : "MAIL_URL"),
  simulator: MAIL_SIMULATOR,
  open: async (outside, ports) => {
    const { MAIL_URL, BOUNCE_LISTEN = null } = outside.settings(mailSettings)
    const warn = (message: string, error: unknown) => ports().log.warn(message, error)
    const simulator = openSimulatedMailer(outside)
    const chosen =
      MAIL_URL === undefined ? simulator : await openRealMailer(MAIL_URL, outside, ports, warn)
    return {
      mailer: outside.withFailurePoints(chosen, "deliver"),
      composer: messageComposer,
      bounces: openBounceListener(BOUNCE_LISTEN, warn),
      simulatedMails: simulator,
    }
  },
}

async function openRealMailer(
  url: string,
  outside: ProviderContext,
  ports: () => Pick<Ports, "baseUrl" | "resolver">,
  warn: (message: string, error: unknown) => void,
): Promise<Mailer> {
  const { simulatorMemory, clock, onShutdown } = outside
  const opened = url === DIRECT_DELIVERY ? await openToServers(ports) : await openToRelay(url, warn)
  onShutdown("connections to mail servers", opened.close)
  const { createSystemMailSender } =
    await import("../../../adapters/providers/mailer/system-mail.ts")
  const { deliver } = opened
  const { MAIL_FROM } = outside.settings(mailSettings)
  const from = () => ownMailbox(MAIL_FROM, ports().baseUrl())
  return {
    sendSystemMail: createSystemMailSender({
      deliver,
      composer: messageComposer,
      memory: simulatorMemory,
      clock,
      from,
    }),
    deliver,
  }
}

async function openToRelay(url: string, warn: (message: string, error: unknown) => void) {
  const { openMailRelay } = await import("../../../adapters/providers/mailer/mail-relay.ts")
  return openMailRelay({ url, warn })
}

async function openToServers(ports: () => Pick<Ports, "baseUrl" | "resolver">) {
  const { openDirectDelivery } =
    await import("../../../adapters/providers/mailer/direct-delivery.ts")
  const opened = openDirectDelivery({
    // The resolver belongs to another slice, which may open later.
    resolver: { query: (...question) => ports().resolver.query(...question) },
    hostName: () => hostOf(ports().baseUrl()),
  })
  return { ...opened, close: async () => undefined }
}

/** The sender of the program's own mails; by default no-reply at its host name. */
function ownMailbox(given: string | undefined, baseUrl: string): MailboxAddress {
  const found = given === undefined ? null : parseMailbox(given, domainToASCII)
  if (found === null) return { name: "", address: `no-reply@${hostOf(baseUrl)}` }
  return { name: found.name ?? "", address: found.address }
}

const hostOf = (baseUrl: string): string => new URL(baseUrl).hostname

/** Checks that the relay accepts our mail; no finding without a relay. */
export async function examineMailer({
  settings,
}: DoctorContext): Promise<readonly DoctorFinding[]> {
  const { MAIL_URL: url } = settings(mailSettings)
  if (url === undefined || url === DIRECT_DELIVERY) return []
  const { openMailRelay } = await import("../../../adapters/providers/mailer/mail-relay.ts")
  const relay = openMailRelay({ url, warn: () => undefined })
  try {
    const fault = await relay.checkConnection()
    if (fault === null) return [okFinding(CHECK, `the relay at ${new URL(url).host} accepts mail`)]
    const says = `the relay at ${new URL(url).host} rejects mail: ${fault}`
    return [{ check: CHECK, state: "wrong", says, fix: "check MAIL_URL" }]
  } finally {
    await relay.close()
  }
}
