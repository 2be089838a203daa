/** A call as operators see it, and the carrier by which they say what happens to it. */
import type { VoiceLeg } from "../../adapters/providers/voice/port.ts"
import type { Live } from "../../domain/voice/call-state.ts"
import { minutesOf } from "../../domain/voice/call-minutes.ts"
import { OperatorRefused } from "../frame/operator/operation.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallPlace } from "./find-call.ts"
import { readCall } from "./find-call.ts"

/** The built-in carrier, where it has a call. @throws OperatorRefused where a real one does */
export async function simulatedCarrier(
  { simulatedVoice }: Pick<Ports, "simulatedVoice">,
  caller: VoiceLeg,
) {
  if (await simulatedVoice.has(caller)) return simulatedVoice
  throw new OperatorRefused(
    "conflict",
    "A real carrier has this call: people say what happens to it.",
  )
}

/** Who took the call was asked, and is so no more. */
const legState = (
  { phase, acceptedLeg }: Pick<Live, "phase" | "acceptedLeg">,
  { leg, answeredAt, askedUntil, isDropped, goneAt }: Live["legs"][number],
) => {
  if (isDropped || goneAt !== null) return "gone"
  if (leg === acceptedLeg) return phase === "talking" ? "talking" : "accepted"
  return answeredAt === null ? "ringing" : askedUntil === null ? "open" : "asked"
}

/** How a call stands. @throws OperatorRefused where there is none */
export async function callShown(ports: Pick<Ports, "runner">, place: CallPlace) {
  const call = await readCall(ports, place)
  if (call === null) throw new OperatorRefused("not_found", `There is no call ${place.callId}.`)
  const { phase, outcome, reason, acceptedLeg, legs } = call
  return {
    ...place,
    phase,
    outcome,
    reason,
    acceptedLeg,
    minutesPaid: minutesOf(call).paid,
    attestation: call.offered.attestation,
    legs: legs.map((one) => ({ leg: one.leg, state: legState(call, one) })),
  }
}
