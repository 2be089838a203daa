/** A call as operators see it, and the carrier that they say what happens by. */
import type { Live } from "../../domain/voice/call-state.ts"
import { minutesOf } from "../../domain/voice/call-minutes.ts"
import { OperatorRefused } from "../frame/operator/operation.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallPlace } from "./find-call.ts"
import { readCall } from "./find-call.ts"

/** The built-in carrier. @throws OperatorRefused where a real one serves this installation */
export function simulatedCarrier({ simulatedVoice }: Ports) {
  if (simulatedVoice !== null) return simulatedVoice
  throw new OperatorRefused("conflict", "A real carrier serves this installation: call the number.")
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
export async function callShown(ports: Ports, place: CallPlace) {
  const call = await readCall(ports, place)
  if (call === null) throw new OperatorRefused("not_found", `There is no call ${place.callId}.`)
  const { phase, outcome, reason, acceptedLeg, legs } = call
  return {
    ...place,
    ...{ phase, outcome, reason, acceptedLeg, minutesPaid: minutesOf(call).paid },
    attestation: call.offered.attestation,
    legs: legs.map((one) => ({ leg: one.leg, state: legState(call, one) })),
  }
}
