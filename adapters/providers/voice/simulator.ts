/**
 * The simulated voice carrier: no phone rings. An operator or a script answers, presses keys and
 * hangs up, and the simulator emits a carrier's events. Operators set the next outcomes with
 * `simulator set voice …`.
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

/** The simulator's outcomes. */
export const VOICE_SIMULATOR = { name: "voice", outcomes: ["gone"] } as const satisfies Simulator

const SLOW_DELAY_MS = 2_000

interface SimulatedVoicePorts {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly pacer: Pacer
  readonly clock: Clock
}

interface SimulatedIncomingCall {
  readonly companyId: CompanyId
  /** The reference of the caller's leg. */
  readonly ref: string
  readonly from: string
  readonly to: string
  readonly attestation: "A" | "B" | "C" | null
  /** The script of the call; null if an operator acts. */
  readonly script: SimulatedCallScript | null
}

/** The simulated carrier with its controls for operators. */
export interface SimulatedVoiceCarrier extends VoiceCarrier {
  /** Starts an incoming call and emits its event. */
  readonly simulateCall: (call: SimulatedIncomingCall) => Promise<void>
  /**
   * Performs a person's action on a leg; false if the leg does not exist or the action has no
   * effect.
   */
  readonly performAction: (leg: VoiceLeg, legAction: SimulatedLegAction) => Promise<boolean>
  /** Whether a leg or a recording belongs to a simulated call. */
  readonly isSimulatedLeg: (leg: VoiceLeg | string) => Promise<boolean>
}

/** Receives the carrier's events. */
type OnVoiceEvent = (event: VoiceEvent) => Promise<void>

interface SimulatedRecording {
  readonly seconds: number
}

/**
 * Opens the simulator. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown as the
 * simulator is set.
 */
export function openSimulatedVoice(
  ports: SimulatedVoicePorts,
  emit: OnVoiceEvent,
): SimulatedVoiceCarrier {
  const simulator = new VoiceSimulator(ports, emit)
  return {
    execute: (command, commandId) => simulator.execute(command, commandId),
    checkLegStatus: (ref) => simulator.checkLegStatus(ref),
    downloadRecording: (ref) => simulator.downloadRecording(ref),
    deleteRecording: (ref) => simulator.deleteRecording(ref),
    simulateCall: (call) => simulator.simulateCall(call),
    performAction: (leg, legAction) => simulator.performAction(leg, legAction),
    isSimulatedLeg: (leg) => simulator.isSimulatedLeg(leg),
  }
}

/** References of callers' legs, dialed legs, and recordings. */
const SIMULATED_REF = /^(?:leg_|call_|audio-)/

/** The reference of a leg: the simulator's own for a caller's, our ids for a dialed one. */
const legRefOf = ({ ref, callId, leg }: VoiceLeg): string => ref ?? `${callId}.${leg}`

class VoiceSimulator {
  readonly #ports: SimulatedVoicePorts
  readonly #emit: OnVoiceEvent
  readonly #legs: SimulatedRecords<SimulatedLeg>
  readonly #audio: SimulatedRecords<SimulatedRecording>

  constructor(ports: SimulatedVoicePorts, emit: OnVoiceEvent) {
    this.#ports = ports
    this.#emit = emit
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
    await this.#emit({ type: "call_came", ref, from, to, startedAt, attestation })
  }

  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  async execute(command: VoiceCommand, commandId: string) {
    const outcome = await this.#nextOutcome()
    const gone = { outcome: "gone" } as const
    if (outcome === "gone") return gone
    const { leg } = command
    const { companyId, callId } = leg
    const name = legRefOf(leg)
    if (command.word === "dial") {
      const caller = await this.#legs.find(legRefOf(command.caller))
      // The caller has hung up, so the other leg is not dialed.
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
      await this.#emitChanges(leg, known, after)
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
    await this.#nextOutcome()
    const leg = await this.#legs.find(ref)
    const { answeredAt = null, endedAt = null } = leg ?? {}
    return { isAlive: leg !== null && leg.state !== "gone", answeredAt, endedAt }
  }

  /** @throws ProviderUnavailable, ProviderOutcomeUnknown, RecordingNotFound */
  async downloadRecording(ref: string): Promise<AsyncIterable<Uint8Array>> {
    await this.#nextOutcome()
    const audio = await this.#audio.find(ref)
    if (audio === null) throw new RecordingNotFound(`the carrier has no recording ${ref}`)
    return (async function* () {
      yield* generateToneMp3(audio.seconds)
    })()
  }

  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  async deleteRecording(ref: string): Promise<void> {
    await this.#nextOutcome()
    await this.#audio.remove(ref)
  }

  async isSimulatedLeg(leg: VoiceLeg | string): Promise<boolean> {
    const ref = typeof leg === "string" ? leg : leg.ref
    if (ref !== null) return SIMULATED_REF.test(ref)
    // The simulator may have a leg whose reference has not been reported yet.
    return typeof leg !== "string" && (await this.#legs.find(legRefOf(leg))) !== null
  }

  async performAction(leg: VoiceLeg, legAction: SimulatedLegAction): Promise<boolean> {
    const name = legRefOf(leg)
    const known = await this.#legs.find(name)
    if (known === null || known.state === "gone") return false
    if (legAction.action === "press") {
      if (known.state !== "open") return false
      await this.#emit({ type: "digits", leg: legIdentityOf(leg, known), digits: legAction.digits })
      return true
    }
    const now = this.#ports.clock.now()
    const after = await this.#legs.update(name, leg.companyId, (found) => {
      return applyAction(found ?? known, legAction.action, now)
    })
    await this.#emitChanges(leg, known, after)
    return after !== known
  }

  /** Emits the events for a leg's change. */
  async #emitChanges(leg: VoiceLeg, before: SimulatedLeg, after: SimulatedLeg): Promise<void> {
    const identity = legIdentityOf(leg, after)
    const { answeredAt, endedAt } = after
    if (before.state === "ringing" && after.state === "open" && answeredAt !== null) {
      await this.#emit({ type: "leg_open", leg: identity, answeredAt })
    }
    if (after.heard > before.heard) await this.#emit({ type: "said", leg: identity })
    if (before.state === "gone" || after.state !== "gone" || endedAt === null) return
    await this.#emit({ type: "leg_gone", leg: identity, goneAt: endedAt, answeredAt })
    const { recording: kind } = after
    if (kind === null) return
    const seconds = recordingSeconds(after, endedAt)
    const audioRef = `audio-${leg.callId}-${kind}`
    await this.#audio.insertIfAbsent(audioRef, leg.companyId, { seconds })
    await this.#emit({ type: "audio_ready", leg: identity, kind, seconds, carrierRef: audioRef })
  }

  /** @throws ProviderUnavailable, ProviderOutcomeUnknown */
  async #nextOutcome() {
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
  action: Exclude<SimulatedLegAction["action"], "press">,
  now: number,
): SimulatedLeg {
  switch (action) {
    case "answer":
      return answerLeg(leg, now)
    case "hang_up":
      return endLeg(leg, now)
    case "hear":
      return leg.heard === leg.spoken ? leg : { ...leg, heard: leg.spoken }
  }
}

function legIdentityOf(leg: VoiceLeg, { to, callerRef }: SimulatedLeg): LegIdentity {
  if (callerRef === null) return { kind: "caller", ref: legRefOf(leg), to }
  return { kind: "leg", ...leg, ref: legRefOf(leg) }
}

// Combines two voice carriers: simulated calls stay in the simulator, all others use the real
// carrier. So a company can try every feature on an installation with a real carrier.

/** Combines the carriers; the reference of a leg or a recording selects one. */
export function combineVoiceCarriers(
  simulator: SimulatedVoiceCarrier,
  real: VoiceCarrier,
): VoiceCarrier {
  const carrierOf = async (
    leg: Parameters<SimulatedVoiceCarrier["isSimulatedLeg"]>[0],
  ): Promise<VoiceCarrier> => ((await simulator.isSimulatedLeg(leg)) ? simulator : real)
  return {
    execute: async (command, commandId) => {
      // A new leg is dialed at the carrier of its caller's leg.
      const leg = command.word === "dial" ? command.caller : command.leg
      return (await carrierOf(leg)).execute(command, commandId)
    },
    checkLegStatus: async (ref) => (await carrierOf(ref)).checkLegStatus(ref),
    downloadRecording: async (ref) => (await carrierOf(ref)).downloadRecording(ref),
    deleteRecording: async (ref) => (await carrierOf(ref)).deleteRecording(ref),
  }
}
