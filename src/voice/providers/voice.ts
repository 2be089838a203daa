/** The carrier of calls: a real one as the settings choose, with the built-in one for test numbers. */
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
    /** The built-in carrier, for those who say what happens to its calls. */
    readonly simulatedVoice: Pick<
      SimulatedVoiceCarrier,
      "simulateCall" | "performAction" | "isSimulatedLeg"
    >
    /** What a real carrier calls back; null where there is none: then the built-in one has all calls. */
    readonly voiceWebhooks: VoiceWebhooks | null
  }
}

/** Has calls come and go. */
export const voiceProvider: Provider = {
  from: import.meta.url,
  name: "voice",
  // Numbers have a connection then, to come by.
  chosenBy: (given) =>
    given["TELNYX_KEY"] === undefined || given["TELNYX_CONNECTION"] === undefined
      ? null
      : "TELNYX_CONNECTION",
  simulator: VOICE_SIMULATOR,
  open: async (outside, ports) => {
    const builtIn = openSimulatedVoice(outside, async (event) => {
      // What it needs is loaded for an event: to show settings this module is loaded alone.
      const { receiveCallEvent } = await import("../receive-call-event.ts")
      await receiveCallEvent(ports(), event, causedBy(newId("cmd")))
    })
    const { simulateCall, performAction, isSimulatedLeg } = builtIn
    const simulatedVoice = { simulateCall, performAction, isSimulatedLeg }
    const real = await openRealVoice(outside, ports)
    if (real === null) {
      return {
        voice: outside.withFailurePoints<VoiceCarrier>(builtIn, "execute"),
        simulatedVoice,
        voiceWebhooks: null,
      }
    }
    const { combineVoiceCarriers } = await import("../../../adapters/providers/voice/simulator.ts")
    const voice = outside.withFailurePoints<VoiceCarrier>(
      combineVoiceCarriers(builtIn, real),
      "execute",
    )
    return { voice, simulatedVoice, voiceWebhooks: real }
  },
}

/** The real carrier; null where none is chosen. Its module is loaded where it is. */
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
