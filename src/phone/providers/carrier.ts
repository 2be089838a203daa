/** The carrier; the built-in one reports by itself what it could not deliver. */
import { openBuiltInCarrier } from "../../../adapters/providers/carrier/built-in.ts"
import { CARRIER } from "../../../adapters/providers/carrier/simulator.ts"
import type { Carrier } from "../../../adapters/providers/carrier/port.ts"
import { builtInCarrierId } from "../../../adapters/providers/carrier/port.ts"
import { parsed } from "../../../domain/kernel/ids.ts"
import { parseMessageId } from "../../../domain/phone/ids.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly carrier: Carrier
  }
}

/** Hands text messages over. */
export const carrier: Provider = {
  from: import.meta.url,
  name: "carrier",
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
    return { carrier: outside.failing(outside.failing(builtIn, "send"), "buy") }
  },
}
