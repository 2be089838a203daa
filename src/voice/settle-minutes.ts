/** Ending the charges of a call's minutes: those that began are closed, the others come back. */
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { resourceOfOpen } from "../../domain/charging/ledger-views.ts"
import {
  firstMinutePrice,
  minutePrice,
  minutesOf,
  seenMinutes,
} from "../../domain/voice/call-minutes.ts"
import type { Live } from "../../domain/voice/call-state.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import type { Back } from "../frame/effects/charge-ends.ts"
import { endCharge, findEnded, refundEnded } from "../frame/effects/charge-ends.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import type { CallPlace } from "./find-call.ts"

const UNANSWERED = "the call was not answered"
const ENDED_BEFORE = "the call ended before this minute began"
const CHEAPER = "who took the call costs less"

/** Ends what is open and known of a call's minutes. Done again it changes nothing. */
export async function settleMinutes(
  ports: Ports,
  { companyId, callId }: CallPlace,
  call: Live,
  cause: Cause,
): Promise<void> {
  const { begun, isLastRefused, known, isFinal } = minutesOf(call)
  const nameOf = (minute: number): ChargeId => `${callId}:${minute}`
  const open = await openMinutes(ports, { companyId, callId }, begun)
  for (const minute of open) {
    if (minute <= known) {
      await endCharge(ports, companyId, nameOf(minute), partBack(call, minute), cause)
    } else if (isFinal || (isLastRefused && minute === begun)) {
      // Of two who ask for a minute at once one may be refused and the other not: a refusal stands.
      const reason = call.answeredAt === null ? UNANSWERED : ENDED_BEFORE
      await endCharge(ports, companyId, nameOf(minute), { amountMicros: null, reason }, cause)
    }
  }
  if (!isFinal) return
  // Those that were closed while it seemed to last, before the carrier said when it had ended.
  for (let minute = known + 1; minute <= Math.min(begun, seenMinutes(call)); minute += 1) {
    if (!open.includes(minute)) await takeBack(ports, companyId, nameOf(minute), cause)
  }
}

/** Those of a call's minutes whose charges are open. */
function openMinutes(
  { runner }: Ports,
  { companyId, callId }: CallPlace,
  begun: number,
): Promise<readonly number[]> {
  const minutes = Array.from({ length: begun }, (_, i) => i + 1)
  return runner.readLatest(ledgerOf(companyId), (state) =>
    minutes.filter((minute) => resourceOfOpen(state, `${callId}:${minute}`) !== null),
  )
}

/** Whether each minute of a call that is over has begun, is charged, and is settled. */
export async function isPaid(ports: Ports, place: CallPlace, call: Live): Promise<boolean> {
  const { begun, owed, next, isFinal } = minutesOf(call)
  if (!isFinal || owed !== null || next !== null) return false
  return (await openMinutes(ports, place, begun)).length === 0
}

/** What comes back of a minute that began: the first was charged at the dearest there was. */
function partBack(call: Live, minute: number): Back | null {
  if (minute > 1) return null
  const amountMicros = firstMinutePrice(call) - minutePrice(call).unitPriceMicros
  return amountMicros === 0 ? null : { amountMicros, reason: CHEAPER }
}

/** Refunds a minute that was closed before the carrier said when the call had ended. */
async function takeBack(
  ports: Ports,
  companyId: CompanyId,
  chargeId: ChargeId,
  cause: Cause,
): Promise<void> {
  const found = await findEnded(ports, companyId, chargeId)
  await refundEnded(ports, companyId, found, ENDED_BEFORE, cause)
}
