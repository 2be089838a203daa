/**
 * The carrier: the built-in one, which reports by itself what it could not deliver, or Telnyx where a key
 * of it is set; then the built-in one still serves test numbers.
 */
import { openBuiltInCarrier, CARRIER } from "../../../adapters/providers/carrier/built-in.ts"
import type { Carrier } from "../../../adapters/providers/carrier/port.ts"
import { builtInCarrierId } from "../../../adapters/providers/carrier/port.ts"
import { parsed } from "../../../domain/kernel/ids.ts"
import { parseMessageId } from "../../../domain/phone/ids.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Outside, Provider } from "../../frame/provider.ts"
import { telnyxAccount, telnyxSettings } from "../../frame/telnyx-settings.ts"
import { isOutside } from "../../../adapters/providers/outside.ts"
import { openTelnyx } from "../../../adapters/providers/telnyx/client.ts"
import type { Examined, Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"

const CHECK = "carrier"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly carrier: Carrier
  }
}

/** Hands text messages over. */
export const carrier: Provider = {
  from: import.meta.url,
  name: "carrier",
  chosenBy: (given) => (given["TELNYX_KEY"] === undefined ? null : "TELNYX_KEY"),
  simulator: CARRIER,
  open: async (outside, ports) => {
    const builtIn = openBuiltInCarrier(outside, async (text, errorCode) => {
      const { companyId, to } = text
      const messageId = parsed(parseMessageId, text.textId)
      const report = { carrierId: builtInCarrierId(messageId), errorCode }
      // What it needs is loaded for a report: to show settings this module is loaded alone.
      const { reportDelivery } = await import("../reactions/report-delivery.ts")
      await reportDelivery(ports(), { companyId, to, messageId }, report, causedBy(newId("cmd")))
    })
    const chosen = await besideReal(outside, ports, builtIn)
    return { carrier: outside.failing(outside.failing(chosen, "send"), "buy") }
  },
}

/** The built-in carrier alone, or with Telnyx, which is loaded where it is chosen. */
async function besideReal(
  outside: Outside,
  ports: () => Pick<Ports, "baseUrl" | "log">,
  builtIn: Carrier,
): Promise<Carrier> {
  const account = telnyxAccount(outside, ports)
  if (account === null) return builtIn
  const { byNumber, openTelnyxCarrier } =
    await import("../../../adapters/providers/carrier/telnyx.ts")
  const real = openTelnyxCarrier({
    ...account,
    warn: (message, error) => ports().log.warn(message, error),
  })
  return byNumber(builtIn, real)
}

/** Whether Telnyx takes the key; nothing where texts go to the built-in carrier. */
export async function examineCarrier({ settings }: Examined): Promise<readonly Finding[]> {
  const { TELNYX_KEY: key, TELNYX_URL: url } = settings(telnyxSettings)
  if (key === undefined) return []
  const wrong = (says: string, fix: string): Finding => ({
    check: CHECK,
    state: "wrong",
    says,
    fix,
  })
  try {
    const query = { "page[size]": "1" }
    const call = { method: "GET", path: "/messaging_profiles", query } as const
    const asked = await openTelnyx({ key, url }).ask(call)
    if (asked.is === "done") return [well(CHECK, "Telnyx takes the key")]
    return [wrong(`Telnyx answers ${asked.status} to the key`, "check TELNYX_KEY and TELNYX_URL")]
  } catch (error) {
    if (!isOutside(error)) throw error
    return [wrong(error.message, "check TELNYX_URL, and that this machine reaches it")]
  }
}
