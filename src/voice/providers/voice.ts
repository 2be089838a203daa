/** The carrier of calls; the built-in one says by itself what happens to them. */
import type { SimulatedVoice } from "../../../adapters/providers/voice/built-in.ts"
import { VOICE, openBuiltInVoice } from "../../../adapters/providers/voice/built-in.ts"
import type { Voice } from "../../../adapters/providers/voice/port.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly voice: Voice
    /** The same carrier, for those who say what happens to its calls; null where it is a real one. */
    readonly simulatedVoice: Pick<SimulatedVoice, "callIn" | "act"> | null
  }
}

/** Has calls come and go. */
export const voiceProvider: Provider = {
  from: import.meta.url,
  name: "voice",
  simulator: VOICE,
  open: async (outside, ports) => {
    const builtIn = openBuiltInVoice(outside, async (event) => {
      // What it needs is loaded for an event: to show settings this module is loaded alone.
      const { receiveCallEvent } = await import("../receive.ts")
      await receiveCallEvent(ports(), event, causedBy(newId("cmd")))
    })
    const { callIn, act } = builtIn
    return { voice: outside.failing<Voice>(builtIn, "do"), simulatedVoice: { callIn, act } }
  },
}
