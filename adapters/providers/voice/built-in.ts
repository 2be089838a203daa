/**
 * The built-in carrier of calls: nobody's phone rings, and who answers, presses a key or hangs up is said by
 * an operator, or by a script that a whole call goes by. It says by itself what a carrier says.
 * What it does next can be set (`simulator set voice …`).
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Clock, Pacer } from "../../machine/clock/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { Simulator, SimulatorMemory, Simulators, SimulatedThings } from "../simulators/port.ts"
import type { LegNamed, Voice, VoiceCommand, VoiceEvent, VoiceLeg } from "./port.ts"
import { AudioGone } from "./port.ts"
import type { Deed, Script, SimulatedLeg } from "./simulated-call.ts"
import {
  endedLeg,
  legAfter,
  openedLeg,
  recordingSeconds,
  ringingLeg,
  scripted,
  toneMp3,
} from "./simulated-call.ts"

/** What it can be told to do. */
export const VOICE = { name: "voice", outcomes: ["gone"] } as const satisfies Simulator

const SLOW_MS = 2_000

/** What the built-in carrier works with. */
interface BuiltInVoicePorts {
  readonly memory: SimulatorMemory
  readonly simulators: Simulators
  readonly pacer: Pacer
  readonly clock: Clock
}

/** A call that the built-in carrier is to have. */
interface SimulatedCallIn {
  readonly companyId: CompanyId
  /** What it calls the caller's leg. */
  readonly ref: string
  readonly from: string
  readonly to: string
  readonly attestation: "A" | "B" | "C" | null
  /** How it goes on by itself; null where it waits for somebody to say so. */
  readonly script: Script | null
}

/** The built-in carrier, as an operator has it. */
export interface SimulatedVoice extends Voice {
  /** Has a call, and tells of it. */
  readonly callIn: (call: SimulatedCallIn) => Promise<void>
  /** Has somebody do something on a leg; false where there is none, or nothing to do. */
  readonly act: (leg: VoiceLeg, deed: Deed) => Promise<boolean>
  /** Whether a leg, or a recording by its name, is of its calls. */
  readonly has: (leg: VoiceLeg | string) => Promise<boolean>
}

/** Hears what the carrier says. */
type OnVoiceEvent = (event: VoiceEvent) => Promise<void>

interface SimulatedAudio {
  readonly seconds: number
}

/** The built-in carrier. Its calls throw ProviderUnavailable and ProviderSilent, as they are set to. */
export function openBuiltInVoice(ports: BuiltInVoicePorts, tell: OnVoiceEvent): SimulatedVoice {
  const one = new BuiltInVoice(ports, tell)
  return {
    do: (command, commandId) => one.do(command, commandId),
    askCall: (ref) => one.askCall(ref),
    audio: (ref) => one.audio(ref),
    forgetAudio: (ref) => one.forgetAudio(ref),
    callIn: (call) => one.callIn(call),
    act: (leg, deed) => one.act(leg, deed),
    has: (leg) => one.has(leg),
  }
}

/** What it calls legs of callers, those that it had called, and recordings. */
const OWN_NAMES = /^(?:leg_|call_|audio-)/

/** What it calls a leg: its own name for a caller's, and ours for one that we had called. */
const nameOf = ({ ref, callId, leg }: VoiceLeg): string => ref ?? `${callId}.${leg}`

class BuiltInVoice {
  readonly #ports: BuiltInVoicePorts
  readonly #tell: OnVoiceEvent
  readonly #legs: SimulatedThings<SimulatedLeg>
  readonly #audio: SimulatedThings<SimulatedAudio>

  constructor(ports: BuiltInVoicePorts, tell: OnVoiceEvent) {
    this.#ports = ports
    this.#tell = tell
    this.#legs = ports.memory.of<SimulatedLeg>({ provider: VOICE.name, kind: "leg" })
    this.#audio = ports.memory.of<SimulatedAudio>({ provider: VOICE.name, kind: "audio" })
  }

  async callIn({ companyId, ref, from, to, attestation, script }: SimulatedCallIn): Promise<void> {
    await this.#legs.keep(ref, companyId, ringingLeg(to, null, script))
    const startedAt = this.#ports.clock.now() - (script?.lastsMs ?? 0)
    await this.#tell({ is: "call_came", ref, from, to, startedAt, attestation })
  }

  /** @throws ProviderUnavailable, ProviderSilent */
  async do(command: VoiceCommand, commandId: string) {
    const outcome = await this.#next()
    const gone = { is: "gone" } as const
    if (outcome === "gone") return gone
    const { leg } = command
    const { companyId, callId } = leg
    const name = nameOf(leg)
    if (command.word === "dial") {
      const caller = await this.#legs.find(nameOf(command.caller))
      // A leg belongs to the caller's: nobody is called for one who has gone.
      if (caller === null || caller.state === "gone") return gone
      const fresh = ringingLeg(command.to, nameOf(command.caller), caller.script)
      await this.#legs.keep(name, companyId, fresh)
    }
    const known = await this.#legs.find(name)
    if (known === null || known.state === "gone") return gone
    if (!known.done.includes(commandId)) {
      const now = this.#ports.clock.now()
      const after = await this.#legs.change(name, companyId, (found) => {
        const before = found ?? known
        return { ...legAfter(before, command, now), done: [...before.done, commandId] }
      })
      await this.#tellOf(leg, known, after)
      for (const { on, deed } of scriptOf(after, command)) {
        const caller = { companyId, callId, leg: 0, ref: after.callerRef ?? name }
        await this.act(on === "leg" ? { ...leg, ref: name } : caller, deed)
      }
    }
    if (outcome === "silent") throw new ProviderSilent("the carrier of calls did not answer")
    return { is: "done", ref: name } as const
  }

  /** @throws ProviderUnavailable, ProviderSilent */
  async askCall(ref: string) {
    await this.#next()
    const leg = await this.#legs.find(ref)
    const { answeredAt = null, endedAt = null } = leg ?? {}
    return { isAlive: leg !== null && leg.state !== "gone", answeredAt, endedAt }
  }

  /** @throws ProviderUnavailable, ProviderSilent, AudioGone */
  async audio(ref: string): Promise<AsyncIterable<Uint8Array>> {
    await this.#next()
    const audio = await this.#audio.find(ref)
    if (audio === null) throw new AudioGone(`the carrier has no recording ${ref}`)
    return (async function* () {
      yield* toneMp3(audio.seconds)
    })()
  }

  /** @throws ProviderUnavailable, ProviderSilent */
  async forgetAudio(ref: string): Promise<void> {
    await this.#next()
    await this.#audio.forget(ref)
  }

  async has(leg: VoiceLeg | string): Promise<boolean> {
    const ref = typeof leg === "string" ? leg : leg.ref
    if (ref !== null) return OWN_NAMES.test(ref)
    // It may have called a leg without anybody's having heard what it calls it.
    return typeof leg !== "string" && (await this.#legs.find(nameOf(leg))) !== null
  }

  async act(leg: VoiceLeg, deed: Deed): Promise<boolean> {
    const name = nameOf(leg)
    const known = await this.#legs.find(name)
    if (known === null || known.state === "gone") return false
    if (deed.does === "press") {
      if (known.state !== "open") return false
      await this.#tell({ is: "digits", leg: named(leg, known), digits: deed.digits })
      return true
    }
    const now = this.#ports.clock.now()
    const after = await this.#legs.change(name, leg.companyId, (found) => {
      return acted(found ?? known, deed.does, now)
    })
    await this.#tellOf(leg, known, after)
    return after !== known
  }

  /** Tells what changed of a leg. */
  async #tellOf(leg: VoiceLeg, before: SimulatedLeg, after: SimulatedLeg): Promise<void> {
    const of = named(leg, after)
    const { answeredAt, endedAt } = after
    if (before.state === "ringing" && after.state === "open" && answeredAt !== null) {
      await this.#tell({ is: "leg_open", leg: of, answeredAt })
    }
    if (after.heard > before.heard) await this.#tell({ is: "said", leg: of })
    if (before.state === "gone" || after.state !== "gone" || endedAt === null) return
    await this.#tell({ is: "leg_gone", leg: of, goneAt: endedAt, answeredAt })
    const { recording: kind } = after
    if (kind === null) return
    const seconds = recordingSeconds(after, endedAt)
    const audioRef = `audio-${leg.callId}-${kind}`
    await this.#audio.keep(audioRef, leg.companyId, { seconds })
    await this.#tell({ is: "audio_ready", leg: of, kind, seconds, carrierRef: audioRef })
  }

  /** @throws ProviderUnavailable, ProviderSilent */
  async #next() {
    const { simulators, pacer } = this.#ports
    const outcome = await simulators.next(VOICE)
    if (outcome === "unavailable")
      throw new ProviderUnavailable("the carrier of calls answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_MS)
    return outcome
  }
}

function scriptOf({ script }: SimulatedLeg, { word }: VoiceCommand) {
  return script === null ? [] : scripted(script, word)
}

function acted(leg: SimulatedLeg, does: Exclude<Deed["does"], "press">, now: number): SimulatedLeg {
  switch (does) {
    case "answer":
      return openedLeg(leg, now)
    case "hang_up":
      return endedLeg(leg, now)
    case "hear":
      return leg.heard === leg.told ? leg : { ...leg, heard: leg.told }
  }
}

/** How a leg is named where something is said of it. */
function named(leg: VoiceLeg, { to, callerRef }: SimulatedLeg): LegNamed {
  if (callerRef === null) return { of: "caller", ref: nameOf(leg), to }
  return { of: "leg", ...leg, ref: nameOf(leg) }
}

// Two carriers of calls as one: calls that the built-in one has go on there, and all others at the real one. So a
// company can try everything on an installation that reaches people.

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
