import { z } from "zod"
import {
  withProviderTimeout,
  isProviderError,
  providerResultOrNull,
} from "../../../adapters/providers/provider-errors.ts"
import type { CallEvent } from "../../../domain/voice/call-events.ts"
import type { OfferedCall } from "../../../domain/voice/call-state.ts"
import { isLegActive } from "../../../domain/voice/call-state.ts"
import type { CallDeadlineName } from "../../../domain/voice/call-commands.ts"
import {
  DEADLINE_NAMES,
  callDeadlineOf,
  missedCommandsOf,
} from "../../../domain/voice/call-commands.ts"
import type { CallId } from "../../../domain/kernel/calls.ts"
import { parseCallId } from "../../../domain/kernel/calls.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { voiceLeg } from "../carrier-commands.ts"
import type { CallReference } from "../call-stream.ts"
import { readCall, executeCallCommand } from "../call-stream.ts"
import { checkCallerLeg } from "../charge-call.ts"

/** A call is checked after this time without an event; conversations are silent, so less often. */
const SILENT_CHECK_MS = 30_000
const TALKING_CHECK_MS = 60_000
/** Time after a call's end at which the caller is assumed to have hung up. */
const CHECK_AFTER_END_MS = 10 * 60_000
/** A number rings at most five phones; leg 0 is the caller. */
const LEGS = [0, 1, 2, 3, 4, 5]

const timerName = (callId: CallId, of: CallDeadlineName, leg: number) => `${callId}:${of}:${leg}`

function deadlineJobs(fact: CallEvent) {
  const deadline = callDeadlineOf(fact)
  if (deadline === null) return []
  const { callId } = fact
  const { of, leg, deadlineAt } = deadline
  return [
    {
      name: timerName(callId, of, leg),
      payload: { callId, of, leg, deadlineAt },
      dueAt: deadlineAt,
    },
  ]
}

/** Expires a deadline; the call ignores one that no longer applies. */
export const callTimer = reaction({
  kind: "call-timer",
  payload: z.object({
    callId: idSchema(parseCallId),
    of: z.enum(DEADLINE_NAMES),
    leg: z.int(),
    deadlineAt: z.number(),
  }),
  on: {
    LegsDialed: deadlineJobs,
    LegPrompted: deadlineJobs,
    CallAccepted: deadlineJobs,
    RecordingNoticeStarted: deadlineJobs,
    GreetingStarted: deadlineJobs,
    VoicemailStarted: deadlineJobs,
    CallBridged: deadlineJobs,
  },
  endOn: {
    CallEnded: ({ callId }) =>
      DEADLINE_NAMES.flatMap((of) => LEGS.map((leg) => timerName(callId, of, leg))),
  },
  discard: "never",
  perform: async (ports, { companyId, name, payload: { callId, ...deadline } }) => {
    const { deadlineAt: dueAt } = deadline
    if (ports.clock.now() < dueAt) return { result: "rescheduled", dueAt }
    const reference = { companyId, callId }
    const cause = causedBy(`call-timer ${name}`)
    // The event that the caller's leg was answered may be lost; then the call must not be hung up.
    const call = deadline.of === "answer" ? await readCall(ports, reference) : null
    if (call !== null && call.endedAt === null) await checkCallerLeg(ports, reference, call, cause)
    await executeCallCommand(
      ports,
      reference,
      { type: "ExpireDeadline", callId, ...deadline },
      cause,
    )
    return { result: "done" }
  },
})

/** Checks a call's legs with the carrier, until it has ended and the caller has hung up. */
export const checkCall = reaction({
  kind: "check-call",
  payload: z.object({ callId: idSchema(parseCallId) }),
  on: {
    CallOffered: ({ callId, at }) => [
      { name: callId, payload: { callId }, dueAt: at + SILENT_CHECK_MS },
    ],
  },
  discard: "never",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const reference = { companyId, callId }
    const cause = causedBy(`check-call ${name}`)
    const known = await readCall(ports, reference)
    const now = ports.clock.now()
    if (known === null || isOver(known)) return { result: "done" }
    const checkAt = known.lastAt + checkIntervalOf(known)
    if (known.endedAt === null && checkAt > now) return { result: "rescheduled", dueAt: checkAt }
    await checkLegs(ports, reference, known, cause)
    const after = await readCall(ports, reference)
    if (after === null || isOver(after)) return { result: "done" }
    if (after.endedAt !== null && now >= after.endedAt + CHECK_AFTER_END_MS) {
      await executeCallCommand(ports, reference, { type: "AssumeCallerHungUp", callId }, cause)
      return { result: "done" }
    }
    return { result: "rescheduled", dueAt: now + checkIntervalOf(after) }
  },
})

const checkIntervalOf = ({ phase }: OfferedCall) =>
  phase === "talking" ? TALKING_CHECK_MS : SILENT_CHECK_MS
const isOver = ({ endedAt, goneAt }: OfferedCall) => endedAt !== null && goneAt !== null

/** Checks all legs, and hangs up again if the caller is still connected after the end. */
async function checkLegs(
  ports: Pick<Ports, "clock" | "log" | "pacer" | "runner" | "voice">,
  reference: CallReference,
  call: OfferedCall,
  cause: Cause,
): Promise<void> {
  const { companyId, callId } = reference
  const isCallerPresent = await checkCallerLeg(ports, reference, call, cause)
  if (isCallerPresent && call.endedAt !== null) await hangUpAgain(ports, reference, call)
  for (const { leg, ref } of call.legs.filter(isLegActive)) {
    if (ref === null) continue
    const query = ports.voice.checkLegStatus(ref)
    const status = await providerResultOrNull(ports.pacer, "the carrier of calls", query)
    if (status === null) continue
    for (const missed of missedCommandsOf(callId, leg, status, call.heardAt)) {
      await executeCallCommand(ports, { companyId, callId }, missed, cause)
    }
  }
}

async function hangUpAgain(
  ports: Pick<Ports, "clock" | "log" | "pacer" | "voice">,
  { companyId, callId }: CallReference,
  call: OfferedCall,
) {
  const { voice, pacer, clock, log } = ports
  const command = { word: "hang_up" as const, leg: voiceLeg(companyId, call, 0) }
  try {
    const sending = voice.execute(command, `${callId}:watch:${clock.now()}`)
    await withProviderTimeout(pacer, "the carrier of calls", sending)
  } catch (error) {
    if (!isProviderError(error)) throw error
    log.info("an ended call still has a connected caller and could not be hung up", {
      callId,
      error: error.message,
    })
  }
}
