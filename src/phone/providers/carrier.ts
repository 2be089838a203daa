import {
  openSimulatedCarrier,
  CARRIER_SIMULATOR,
} from "../../../adapters/providers/carrier/simulator.ts"
import type { Carrier } from "../../../adapters/providers/carrier/port.ts"
import { simulatedCarrierId } from "../../../adapters/providers/carrier/port.ts"
import { parseStored } from "../../../domain/kernel/ids.ts"
import { parseMessageId } from "../../../domain/phone/ids.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import type { ProviderContext, Provider } from "../../frame/provider.ts"
import { telnyxAccount, telnyxSettings } from "../../frame/telnyx-settings.ts"
import { isProviderError } from "../../../adapters/providers/provider-errors.ts"
import { openTelnyxClient } from "../../../adapters/providers/telnyx/client.ts"
import type { DoctorContext, DoctorFinding } from "../../frame/operator/cli/doctor-finding.ts"
import { okFinding } from "../../frame/operator/cli/doctor-finding.ts"

const CHECK = "carrier"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly carrier: Carrier
  }
}

/** Provides the carrier of texts: Telnyx if `TELNYX_KEY` is set, and the simulator for test numbers. */
export const carrierProvider: Provider = {
  from: import.meta.url,
  name: "carrier",
  chosenBy: (given) => (given["TELNYX_KEY"] === undefined ? null : "TELNYX_KEY"),
  simulator: CARRIER_SIMULATOR,
  open: async (outside, ports) => {
    const simulator = openSimulatedCarrier(outside, async (text, errorCode) => {
      const { companyId, to } = text
      const messageId = parseStored(parseMessageId, text.textId)
      const report = { carrierId: simulatedCarrierId(messageId), errorCode }
      // `config show` loads this module, so the reaction is imported only when a report comes.
      const { reportDelivery } = await import("../reactions/report-delivery.ts")
      await reportDelivery(ports(), { companyId, to, messageId }, report, causedBy(newId("cmd")))
    })
    const chosen = await chooseCarrier(outside, ports, simulator)
    return {
      carrier: outside.withFailurePoints(outside.withFailurePoints(chosen, "send"), "buyNumber"),
    }
  },
}

async function chooseCarrier(
  outside: ProviderContext,
  ports: () => Pick<Ports, "baseUrl" | "log">,
  simulator: Carrier,
): Promise<Carrier> {
  const account = telnyxAccount(outside, ports)
  if (account === null) return simulator
  const { combineCarriers, openTelnyxCarrier } =
    await import("../../../adapters/providers/carrier/telnyx.ts")
  const real = openTelnyxCarrier({
    ...account,
    warn: (message, error) => ports().log.warn(message, error),
  })
  return combineCarriers(simulator, real)
}

/** Checks that Telnyx accepts the key; no finding if the simulator is used. */
export async function examineCarrier({
  settings,
}: DoctorContext): Promise<readonly DoctorFinding[]> {
  const { TELNYX_KEY: key, TELNYX_URL: url } = settings(telnyxSettings)
  if (key === undefined) return []
  const wrong = (says: string, fix: string): DoctorFinding => ({
    check: CHECK,
    state: "wrong",
    says,
    fix,
  })
  try {
    const query = { "page[size]": "1" }
    const call = { method: "GET", path: "/messaging_profiles", query } as const
    const response = await openTelnyxClient({ key, url }).request(call)
    if (response.outcome === "done") return [okFinding(CHECK, "Telnyx accepts the key")]
    return [
      wrong(
        `Telnyx answered the key with status ${response.status}`,
        "check TELNYX_KEY and TELNYX_URL",
      ),
    ]
  } catch (error) {
    if (!isProviderError(error)) throw error
    return [wrong(error.message, "check TELNYX_URL, and that this machine can reach it")]
  }
}
