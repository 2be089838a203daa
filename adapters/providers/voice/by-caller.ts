/**
 * Two carriers of calls as one: calls that the built-in one has go on there, and all others at the real one. So a
 * company can try everything on an installation that reaches people.
 */
import type { SimulatedVoice } from "./built-in.ts"
import type { Voice } from "./port.ts"

/** Joins them: whose a leg or a recording is says its name. */
export function byCaller(builtIn: SimulatedVoice, real: Voice): Voice {
  const at = async (leg: Parameters<SimulatedVoice["has"]>[0]): Promise<Voice> =>
    (await builtIn.has(leg)) ? builtIn : real
  return {
    do: async (command, commandId) => {
      // A leg that is to be called is called where its caller is.
      const leg = command.word === "dial" ? command.caller : command.leg
      return (await at(leg)).do(command, commandId)
    },
    askCall: async (ref) => (await at(ref)).askCall(ref),
    audio: async (ref) => (await at(ref)).audio(ref),
    forgetAudio: async (ref) => (await at(ref)).forgetAudio(ref),
  }
}
