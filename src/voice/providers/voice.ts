import type { SimulatedVoiceCarrier } from "../../../adapters/providers/voice/simulator.ts"
import { VOICE_SIMULATOR, openSimulatedVoice } from "../../../adapters/providers/voice/simulator.ts"
import type { VoiceWebhooks, VoiceCarrier } from "../../../adapters/providers/voice/port.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import type { ProviderContext, Provider } from "../../frame/provider.ts"
import { telnyxAccount } from "../../frame/telnyx-settings.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly voice: VoiceCarrier
    /** The simulator, for operations that act on its calls. */
    readonly simulatedVoice: Pick<
      SimulatedVoiceCarrier,
      "simulateCall" | "performAction" | "isSimulatedLeg"
    >
    /** Webhooks of the real carrier; null if the simulator has all calls. */
    readonly voiceWebhooks: VoiceWebhooks | null
  }
}

/** Provides the carrier of calls: Telnyx if it is configured, and the simulator for test numbers. */
export const voiceProvider: Provider = {
  from: import.meta.url,
  name: "voice",
  // Calls to numbers arrive over the Telnyx connection.
  chosenBy: (given) =>
    given["TELNYX_KEY"] === undefined || given["TELNYX_CONNECTION"] === undefined
      ? null
      : "TELNYX_CONNECTION",
  simulator: VOICE_SIMULATOR,
  open: async (outside, ports) => {
    const simulator = openSimulatedVoice(outside, async (event) => {
      // `config show` loads this module, so the handler is imported only when an event comes.
      const { receiveCallEvent } = await import("../receive-call-event.ts")
      await receiveCallEvent(ports(), event, causedBy(newId("cmd")))
    })
    const { simulateCall, performAction, isSimulatedLeg } = simulator
    const simulatedVoice = { simulateCall, performAction, isSimulatedLeg }
    const real = await openRealVoice(outside, ports)
    if (real === null) {
      return {
        voice: outside.withFailurePoints<VoiceCarrier>(simulator, "execute"),
        simulatedVoice,
        voiceWebhooks: null,
      }
    }
    const { combineVoiceCarriers } = await import("../../../adapters/providers/voice/simulator.ts")
    const voice = outside.withFailurePoints<VoiceCarrier>(
      combineVoiceCarriers(simulator, real),
      "execute",
    )
    return { voice, simulatedVoice, voiceWebhooks: real }
  },
}

async function openRealVoice(
  outside: ProviderContext,
  ports: () => Pick<Ports, "baseUrl" | "log">,
): Promise<(VoiceCarrier & VoiceWebhooks) | null> {
  const account = telnyxAccount(outside, ports)
  if (account === null || account.connectionId === null) return null
  const { openTelnyxVoice } = await import("../../../adapters/providers/voice/telnyx.ts")
  const { key, publicKey, url, connectionId } = account
  const warn = (message: string, detail: object) => ports().log.info(message, detail)
  return openTelnyxVoice({ key, publicKey, url, connectionId, warn })
}
