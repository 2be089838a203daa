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
