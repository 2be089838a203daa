/**
 * The built-in carrier of calls: nobody's phone rings, and who answers, presses a key or hangs up is said by
 * an operator, or by a script that a whole call goes by. It says by itself what a carrier says.
 * What it does next can be set (`simulator set voice …`).
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Clock, Pacer } from "../../machine/clock/port.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { Simulator, SimulatorStore, Simulators, SimulatedRecords } from "../simulators/port.ts"
import type { LegIdentity, VoiceCarrier, VoiceCommand, VoiceEvent, VoiceLeg } from "./port.ts"
import { RecordingNotFound } from "./port.ts"
import type { SimulatedLegAction, SimulatedCallScript, SimulatedLeg } from "./simulated-call.ts"
import {
  endLeg,
  applyCommand,
  answerLeg,
  recordingSeconds,
  createRingingLeg,
  scriptedActions,
  generateToneMp3,
} from "./simulated-call.ts"

/** What it can be told to do. */
export const VOICE_SIMULATOR = { name: "voice", outcomes: ["gone"] } as const satisfies Simulator

const SLOW_DELAY_MS = 2_000

/** What the built-in carrier works with. */
interface SimulatedVoicePorts {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly pacer: Pacer
  readonly clock: Clock
}

/** A call that the built-in carrier is to have. */
interface SimulatedIncomingCall {
  readonly companyId: CompanyId
  /** What it calls the caller's leg. */
  readonly ref: string
  readonly from: string
  readonly to: string
  readonly attestation: "A" | "B" | "C" | null
  /** How it goes on by itself; null where it waits for somebody to say so. */
  readonly script: SimulatedCallScript | null
}

/** The built-in carrier, as an operator has it. */
export interface SimulatedVoiceCarrier extends VoiceCarrier {
  /** Has a call, and tells of it. */
  readonly simulateCall: (call: SimulatedIncomingCall) => Promise<void>
  /** Has somebody do something on a leg; false where there is none, or nothing to do. */
  readonly performAction: (leg: VoiceLeg, deed: SimulatedLegAction) => Promise<boolean>
  /** Whether a leg, or a recording by its name, is of its calls. */
  readonly isSimulatedLeg: (leg: VoiceLeg | string) => Promise<boolean>
}

/** Hears what the carrier says. */
type OnVoiceEvent = (event: VoiceEvent) => Promise<void>

interface SimulatedRecording {
  readonly seconds: number
}

/** The built-in carrier. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown, as they are set to. */
export function openSimulatedVoice(
  ports: SimulatedVoicePorts,
  tell: OnVoiceEvent,
): SimulatedVoiceCarrier {
  const one = new VoiceSimulator(ports, tell)
  return {
    execute: (command, commandId) => one.execute(command, commandId),
    checkLegStatus: (ref) => one.checkLegStatus(ref),
    downloadRecording: (ref) => one.downloadRecording(ref),
    deleteRecording: (ref) => one.deleteRecording(ref),
    simulateCall: (call) => one.simulateCall(call),
    performAction: (leg, deed) => one.performAction(leg, deed),
    isSimulatedLeg: (leg) => one.isSimulatedLeg(leg),
  }
}

/** What it calls legs of callers, those that it had called, and recordings. */
const SIMULATED_REF = /^(?:leg_|call_|audio-)/

/** What it calls a leg: its own name for a caller's, and ours for one that we had called. */
const legRefOf = ({ ref, callId, leg }: VoiceLeg): string => ref ?? `${callId}.${leg}`

class VoiceSimulator {
  readonly #ports: SimulatedVoicePorts
  readonly #tell: OnVoiceEvent
  readonly #legs: SimulatedRecords<SimulatedLeg>
  readonly #audio: SimulatedRecords<SimulatedRecording>

  constructor(ports: SimulatedVoicePorts, tell: OnVoiceEvent) {
    this.#ports = ports
    this.#tell = tell
    this.#legs = ports.simulatorMemory.recordsOf<SimulatedLeg>({
      provider: VOICE_SIMULATOR.name,
      kind: "leg",
    })
    this.#audio = ports.simulatorMemory.recordsOf<SimulatedRecording>({
      provider: VOICE_SIMULATOR.name,
      kind: "audio",
    })
  }

  async simulateCall({
    companyId,
    ref,
    from,
    to,
    attestation,
    script,
  }: SimulatedIncomingCall): Promise<void> {
    await this.#legs.insertIfAbsent(ref, companyId, createRingingLeg(to, null, script))
    const startedAt = this.#ports.clock.now() - (script?.lastsMs ?? 0)
    await this.#tell({ type: "call_came", ref, from, to, startedAt, attestation })
  }

  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  async execute(command: VoiceCommand, commandId: string) {
    const outcome = await this.#next()
    const gone = { outcome: "gone" } as const
    if (outcome === "gone") return gone
    const { leg } = command
    const { companyId, callId } = leg
    const name = legRefOf(leg)
    if (command.word === "dial") {
      const caller = await this.#legs.find(legRefOf(command.caller))
      // A leg belongs to the caller's: nobody is called for one who has gone.
      if (caller === null || caller.state === "gone") return gone
      const fresh = createRingingLeg(command.to, legRefOf(command.caller), caller.script)
      await this.#legs.insertIfAbsent(name, companyId, fresh)
    }
    const known = await this.#legs.find(name)
    if (known === null || known.state === "gone") return gone
    if (!known.done.includes(commandId)) {
      const now = this.#ports.clock.now()
      const after = await this.#legs.update(name, companyId, (found) => {
        const before = found ?? known
        return { ...applyCommand(before, command, now), done: [...before.done, commandId] }
      })
      await this.#tellOf(leg, known, after)
      for (const { on, legAction } of actionsAfter(after, command)) {
        const caller = { companyId, callId, leg: 0, ref: after.callerRef ?? name }
        await this.performAction(on === "leg" ? { ...leg, ref: name } : caller, legAction)
      }
    }
    if (outcome === "silent")
      throw new ProviderOutcomeUnknown("the carrier of calls did not answer")
    return { outcome: "done", ref: name } as const
  }

  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  async checkLegStatus(ref: string) {
    await this.#next()
    const leg = await this.#legs.find(ref)
    const { answeredAt = null, endedAt = null } = leg ?? {}
    return { isAlive: leg !== null && leg.state !== "gone", answeredAt, endedAt }
  }

  /** @throws ProviderUnavailable, ProviderOutcomeUnknown, RecordingNotFound */
  async downloadRecording(ref: string): Promise<AsyncIterable<Uint8Array>> {
    await this.#next()
    const audio = await this.#audio.find(ref)
    if (audio === null) throw new RecordingNotFound(`the carrier has no recording ${ref}`)
    return (async function* () {
      yield* generateToneMp3(audio.seconds)
    })()
  }

  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  async deleteRecording(ref: string): Promise<void> {
    await this.#next()
    await this.#audio.remove(ref)
  }

  async isSimulatedLeg(leg: VoiceLeg | string): Promise<boolean> {
    const ref = typeof leg === "string" ? leg : leg.ref
    if (ref !== null) return SIMULATED_REF.test(ref)
    // It may have called a leg without anybody's having heard what it calls it.
    return typeof leg !== "string" && (await this.#legs.find(legRefOf(leg))) !== null
  }

  async performAction(leg: VoiceLeg, deed: SimulatedLegAction): Promise<boolean> {
    const name = legRefOf(leg)
    const known = await this.#legs.find(name)
    if (known === null || known.state === "gone") return false
    if (deed.action === "press") {
      if (known.state !== "open") return false
      await this.#tell({ type: "digits", leg: legIdentityOf(leg, known), digits: deed.digits })
      return true
    }
    const now = this.#ports.clock.now()
    const after = await this.#legs.update(name, leg.companyId, (found) => {
      return applyAction(found ?? known, deed.action, now)
    })
    await this.#tellOf(leg, known, after)
    return after !== known
  }

  /** Tells what changed of a leg. */
  async #tellOf(leg: VoiceLeg, before: SimulatedLeg, after: SimulatedLeg): Promise<void> {
    const of = legIdentityOf(leg, after)
    const { answeredAt, endedAt } = after
    if (before.state === "ringing" && after.state === "open" && answeredAt !== null) {
      await this.#tell({ type: "leg_open", leg: of, answeredAt })
    }
    if (after.heard > before.heard) await this.#tell({ type: "said", leg: of })
    if (before.state === "gone" || after.state !== "gone" || endedAt === null) return
    await this.#tell({ type: "leg_gone", leg: of, goneAt: endedAt, answeredAt })
    const { recording: kind } = after
    if (kind === null) return
    const seconds = recordingSeconds(after, endedAt)
    const audioRef = `audio-${leg.callId}-${kind}`
    await this.#audio.insertIfAbsent(audioRef, leg.companyId, { seconds })
    await this.#tell({ type: "audio_ready", leg: of, kind, seconds, carrierRef: audioRef })
  }

  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  async #next() {
    const { simulators, pacer } = this.#ports
    const outcome = await simulators.nextOutcome(VOICE_SIMULATOR)
    if (outcome === "unavailable")
      throw new ProviderUnavailable("the carrier of calls answered 503")
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    return outcome
  }
}

function actionsAfter({ script }: SimulatedLeg, { word }: VoiceCommand) {
  return script === null ? [] : scriptedActions(script, word)
}

function applyAction(
  leg: SimulatedLeg,
  does: Exclude<SimulatedLegAction["action"], "press">,
  now: number,
): SimulatedLeg {
  switch (does) {
    case "answer":
      return answerLeg(leg, now)
    case "hang_up":
      return endLeg(leg, now)
    case "hear":
      return leg.heard === leg.told ? leg : { ...leg, heard: leg.told }
  }
}

/** How a leg is named where something is said of it. */
function legIdentityOf(leg: VoiceLeg, { to, callerRef }: SimulatedLeg): LegIdentity {
  if (callerRef === null) return { kind: "caller", ref: legRefOf(leg), to }
  return { kind: "leg", ...leg, ref: legRefOf(leg) }
}

// Two carriers of calls as one: calls that the built-in one has go on there, and all others at the real one. So a
// company can try everything on an installation that reaches people.

/** Joins them: whose a leg or a recording is says its name. */
export function combineVoiceCarriers(
  builtIn: SimulatedVoiceCarrier,
  real: VoiceCarrier,
): VoiceCarrier {
  const at = async (
    leg: Parameters<SimulatedVoiceCarrier["isSimulatedLeg"]>[0],
  ): Promise<VoiceCarrier> => ((await builtIn.isSimulatedLeg(leg)) ? builtIn : real)
  return {
    execute: async (command, commandId) => {
      // A leg that is to be called is called where its caller is.
      const leg = command.word === "dial" ? command.caller : command.leg
      return (await at(leg)).execute(command, commandId)
    },
    checkLegStatus: async (ref) => (await at(ref)).checkLegStatus(ref),
    downloadRecording: async (ref) => (await at(ref)).downloadRecording(ref),
    deleteRecording: async (ref) => (await at(ref)).deleteRecording(ref),
  }
}
