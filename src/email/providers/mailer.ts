/** Who takes mails: a relay or the recipients' own servers as the settings choose, else the built-in mailer. */
import { domainToASCII } from "node:url"
import { openBounces } from "../../../adapters/providers/mailer/bounces.ts"
import { MAIL, openBuiltInMailer } from "../../../adapters/providers/mailer/built-in.ts"
import { composer } from "../../../adapters/providers/mailer/message.ts"
import type {
  Bounces,
  Composer,
  Mailer,
  Named,
  SentMails,
} from "../../../adapters/providers/mailer/port.ts"
import { parseMailbox } from "../../../domain/email/mailbox.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Outside, Provider } from "../../frame/provider.ts"
import { DIRECT, mailSettings } from "../settings.ts"
import type { Examined, Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"

const CHECK = "mail"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly mailer: Mailer
    readonly composer: Composer
    readonly bounces: Bounces
    /** What the built-in mailer took. */
    readonly sentMails: SentMails
  }
}

/** Sends mails. */
export const mailer: Provider = {
  from: import.meta.url,
  name: "mailer",
  chosenBy: (given) => (given["MAIL_URL"] === undefined ? null : "MAIL_URL"),
  simulator: MAIL,
  open: async (outside, ports) => {
    const { MAIL_URL, BOUNCE_LISTEN = null } = outside.settings(mailSettings)
    const warn = (message: string, error: unknown) => ports().log.warn(message, error)
    const builtIn = openBuiltInMailer(outside)
    const chosen = MAIL_URL === undefined ? builtIn : await openReal(MAIL_URL, outside, ports, warn)
    return {
      mailer: outside.failing(chosen, "hand"),
      composer,
      bounces: openBounces(BOUNCE_LISTEN, warn),
      sentMails: builtIn,
    }
  },
}

async function openReal(
  url: string,
  outside: Outside,
  ports: () => Pick<Ports, "baseUrl" | "resolver">,
  warn: (message: string, error: unknown) => void,
): Promise<Mailer> {
  const { memory, clock, atEnd } = outside
  const opened = url === DIRECT ? await openToServers(ports) : await openToRelay(url, warn)
  atEnd("connections to servers of mail", opened.close)
  const { sendingByHand } = await import("../../../adapters/providers/mailer/by-hand.ts")
  const { hand } = opened
  const { MAIL_FROM } = outside.settings(mailSettings)
  const from = () => ownMailbox(MAIL_FROM, ports().baseUrl())
  return { send: sendingByHand({ hand, composer, memory, clock, from }), hand }
}

async function openToRelay(url: string, warn: (message: string, error: unknown) => void) {
  const { openRelay } = await import("../../../adapters/providers/mailer/relay.ts")
  return openRelay({ url, warn })
}

async function openToServers(ports: () => Pick<Ports, "baseUrl" | "resolver">) {
  const { openDirect } = await import("../../../adapters/providers/mailer/direct.ts")
  const opened = openDirect({
    // It is another slice's, and may be opened behind this one.
    resolver: { ask: (...question) => ports().resolver.ask(...question) },
    name: () => hostOf(ports().baseUrl()),
  })
  return { ...opened, close: async () => undefined }
}

/** Whom the program's own mails are from, where nobody says: nobody at its host name. */
function ownMailbox(given: string | undefined, baseUrl: string): Named {
  const found = given === undefined ? null : parseMailbox(given, domainToASCII)
  if (found === null) return { name: "", address: `no-reply@${hostOf(baseUrl)}` }
  return { name: found.name ?? "", address: found.address }
}

const hostOf = (baseUrl: string): string => new URL(baseUrl).hostname

/** Whether the relay takes us; nothing where there is none. */
export async function examineMailer({ settings }: Examined): Promise<readonly Finding[]> {
  const { MAIL_URL: url } = settings(mailSettings)
  if (url === undefined || url === DIRECT) return []
  const { openRelay } = await import("../../../adapters/providers/mailer/relay.ts")
  const relay = openRelay({ url, warn: () => undefined })
  try {
    const fault = await relay.fault()
    if (fault === null) return [well(CHECK, `the relay at ${new URL(url).host} takes mail`)]
    const says = `the relay at ${new URL(url).host} takes no mail: ${fault}`
    return [{ check: CHECK, state: "wrong", says, fix: "check MAIL_URL" }]
  } finally {
    await relay.close()
  }
}
