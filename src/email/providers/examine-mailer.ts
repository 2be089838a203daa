/** What `doctor` says of the relay. */
import type { Examined, Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"
import { DIRECT, mailSettings } from "../settings.ts"

const CHECK = "mail"

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
