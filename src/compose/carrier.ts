import { openBuiltInCarrier } from "../../adapters/providers/carrier/built-in.ts"
import type { Carrier } from "../../adapters/providers/carrier/port.ts"
import { builtInCarrierId } from "../../adapters/providers/carrier/port.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { reportDelivery } from "../phone/reactions/report-delivery.ts"
import type { Faulty } from "./faults.ts"
import { parseMessageId, parsed } from "../../domain/kernel/ids.ts"

/** The carrier; the built-in one reports by itself what it could not deliver. */
export function openCarrier(
  simulating: Parameters<typeof openBuiltInCarrier>[0],
  faulty: Faulty,
  ports: () => Ports,
): Carrier {
  const builtIn = openBuiltInCarrier(simulating, async (text, errorCode) => {
    const { companyId, to } = text
    const messageId = parsed(parseMessageId, text.textId)
    const report = { carrierId: builtInCarrierId(messageId), errorCode }
    const cause = causedBy(newId("cmd"))
    await reportDelivery(ports(), { companyId, to, messageId }, report, cause)
  })
  return faulty.carrier(builtIn)
}
