/** What a call waits for has its time; and who says nothing of a call is asked. */
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
import type { CallId } from "../../../domain/voice/ids.ts"
import { parseCallId } from "../../../domain/voice/ids.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { voiceLeg } from "../carrier-commands.ts"
import type { CallReference } from "../call-stream.ts"
import { readCall, executeCallCommand } from "../call-stream.ts"
import { checkCallerLeg } from "../charge-call.ts"

/** A call of which nothing was heard for so long is asked about; who talks is silent, and each minute is asked. */
const SILENT_CHECK_MS = 30_000
const TALKING_CHECK_MS = 60_000
/** So long after the end it is asked when the caller went. */
const CHECK_AFTER_END_MS = 10 * 60_000
/** No number rings more than five phones. */
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

/** Says that a deadline is over; the call knows whether it still stands. */
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
  discard: "owed",
  perform: async (ports, { companyId, name, payload: { callId, ...deadline } }) => {
    const { deadlineAt: dueAt } = deadline
    if (ports.clock.now() < dueAt) return { result: "later", dueAt }
    const place = { companyId, callId }
    const cause = causedBy(`call-timer ${name}`)
    // The caller's leg may be open without anybody's having heard so: then nobody is hung up.
    const call = deadline.of === "answer" ? await readCall(ports, place) : null
    if (call !== null && call.endedAt === null) await checkCallerLeg(ports, place, call, cause)
    await executeCallCommand(ports, place, { type: "ExpireDeadline", callId, ...deadline }, cause)
    return { result: "done" }
  },
})

/** Asks the carrier about a call's legs, until it is over and known when the caller went. */
export const checkCall = reaction({
  kind: "check-call",
  payload: z.object({ callId: idSchema(parseCallId) }),
  on: {
    CallOffered: ({ callId, at }) => [
      { name: callId, payload: { callId }, dueAt: at + SILENT_CHECK_MS },
    ],
  },
  discard: "owed",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const place = { companyId, callId }
    const cause = causedBy(`check-call ${name}`)
    const known = await readCall(ports, place)
    const now = ports.clock.now()
    if (known === null || isOver(known)) return { result: "done" }
    const lookAt = known.lastAt + checkIntervalOf(known)
    if (known.endedAt === null && lookAt > now) return { result: "later", dueAt: lookAt }
    await checkLegs(ports, place, known, cause)
    const after = await readCall(ports, place)
    if (after === null || isOver(after)) return { result: "done" }
    if (after.endedAt !== null && now >= after.endedAt + CHECK_AFTER_END_MS) {
      await executeCallCommand(ports, place, { type: "AssumeCallerHungUp", callId }, cause)
      return { result: "done" }
    }
    return { result: "later", dueAt: now + checkIntervalOf(after) }
  },
})

const checkIntervalOf = ({ phase }: OfferedCall) =>
  phase === "talking" ? TALKING_CHECK_MS : SILENT_CHECK_MS
const isOver = ({ endedAt, goneAt }: OfferedCall) => endedAt !== null && goneAt !== null

/** Asks about all legs, and hangs the caller up once more who is there though the call is over. */
async function checkLegs(
  ports: Pick<Ports, "clock" | "log" | "pacer" | "runner" | "voice">,
  place: CallReference,
  call: OfferedCall,
  cause: Cause,
): Promise<void> {
  const { companyId, callId } = place
  const isThere = await checkCallerLeg(ports, place, call, cause)
  if (isThere && call.endedAt !== null) await hangUpAgain(ports, place, call)
  for (const { leg, ref } of call.legs.filter(isLegActive)) {
    if (ref === null) continue
    const asked = ports.voice.checkLegStatus(ref)
    const knowledge = await providerResultOrNull(ports.pacer, "the carrier of calls", asked)
    if (knowledge === null) continue
    for (const missed of missedCommandsOf(callId, leg, knowledge, call.heardAt)) {
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
    const doing = voice.execute(command, `${callId}:watch:${clock.now()}`)
    await withProviderTimeout(pacer, "the carrier of calls", doing)
  } catch (error) {
    if (!isProviderError(error)) throw error
    log.info("a call that is over could not be hung up", { callId, error: error.message })
  }
}
