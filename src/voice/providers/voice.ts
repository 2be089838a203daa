/** The carrier of calls: a real one as the settings choose, with the built-in one for test numbers. */
import type { SimulatedVoice } from "../../../adapters/providers/voice/built-in.ts"
import { VOICE, openBuiltInVoice } from "../../../adapters/providers/voice/built-in.ts"
import type { CallsBack, Voice } from "../../../adapters/providers/voice/port.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Outside, Provider } from "../../frame/provider.ts"
import { telnyxAccount } from "../../frame/telnyx-settings.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly voice: Voice
    /** The built-in carrier, for those who say what happens to its calls. */
    readonly simulatedVoice: Pick<SimulatedVoice, "callIn" | "act" | "has">
    /** What a real carrier calls back; null where there is none: then the built-in one has all calls. */
    readonly calledBack: CallsBack | null
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
  simulator: VOICE,
  open: async (outside, ports) => {
    const builtIn = openBuiltInVoice(outside, async (event) => {
      // What it needs is loaded for an event: to show settings this module is loaded alone.
      const { receiveCallEvent } = await import("../receive.ts")
      await receiveCallEvent(ports(), event, causedBy(newId("cmd")))
    })
    const { callIn, act, has } = builtIn
    const simulatedVoice = { callIn, act, has }
    const real = await openReal(outside, ports)
    if (real === null) {
      return { voice: outside.failing<Voice>(builtIn, "do"), simulatedVoice, calledBack: null }
    }
    const { byCaller } = await import("../../../adapters/providers/voice/built-in.ts")
    const voice = outside.failing<Voice>(byCaller(builtIn, real), "do")
    return { voice, simulatedVoice, calledBack: real }
  },
}

/** The real carrier; null where none is chosen. Its module is loaded where it is. */
async function openReal(
  outside: Outside,
  ports: () => Pick<Ports, "baseUrl" | "log">,
): Promise<(Voice & CallsBack) | null> {
  const account = telnyxAccount(outside, ports)
  if (account === null || account.connectionId === null) return null
  const { openTelnyxVoice } = await import("../../../adapters/providers/voice/telnyx.ts")
  const { key, publicKey, url, connectionId } = account
  const warn = (message: string, detail: object) => ports().log.info(message, detail)
  return openTelnyxVoice({ key, publicKey, url, connectionId, warn })
}
