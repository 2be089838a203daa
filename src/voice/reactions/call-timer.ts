/** What a call waits for has its time; and who says nothing of a call is asked. */
import { z } from "zod"
import { inTime, isOutside, knownInTime } from "../../../adapters/providers/outside.ts"
import type { CallEvent } from "../../../domain/voice/call-events.ts"
import type { Live } from "../../../domain/voice/call-state.ts"
import { isAlive } from "../../../domain/voice/call-state.ts"
import type { DeadlineName } from "../../../domain/voice/call-commands.ts"
import { DEADLINES, deadlineOf, missedOf } from "../../../domain/voice/call-commands.ts"
import type { CallId } from "../../../domain/voice/ids.ts"
import { parseCallId } from "../../../domain/voice/ids.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { voiceLeg } from "../carrier-commands.ts"
import type { CallPlace } from "../find-call.ts"
import { readCall, tellCall } from "../find-call.ts"
import { seeCaller } from "../pay-call.ts"

/** A call of which nothing was heard for so long is asked about; who talks is silent, and each minute is asked. */
const SILENCE_MS = 30_000
const TALKING_MS = 60_000
/** So long after the end it is asked when the caller went. */
const ASK_FOR_MS = 10 * 60_000
/** No number rings more than five phones. */
const LEGS = [0, 1, 2, 3, 4, 5]

const timerName = (callId: CallId, of: DeadlineName, leg: number) => `${callId}:${of}:${leg}`

function follow(fact: CallEvent) {
  const deadline = deadlineOf(fact)
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
    of: z.enum(DEADLINES),
    leg: z.int(),
    deadlineAt: z.number(),
  }),
  from: {
    LegsDialed: follow,
    LegPrompted: follow,
    CallAccepted: follow,
    RecordingNoticeStarted: follow,
    GreetingStarted: follow,
    VoicemailStarted: follow,
    CallBridged: follow,
  },
  until: {
    CallEnded: ({ callId }) =>
      DEADLINES.flatMap((of) => LEGS.map((leg) => timerName(callId, of, leg))),
  },
  giveUp: "owed",
  perform: async (ports, { companyId, name, payload: { callId, ...deadline } }) => {
    const { deadlineAt: dueAt } = deadline
    if (ports.clock.now() < dueAt) return { result: "later", dueAt }
    const place = { companyId, callId }
    const cause = causedBy(`call-timer ${name}`)
    // The caller's leg may be open without anybody's having heard so: then nobody is hung up.
    const call = deadline.of === "answer" ? await readCall(ports, place) : null
    if (call !== null && call.endedAt === null) await seeCaller(ports, place, call, cause)
    await tellCall(ports, place, { type: "PassDeadline", callId, ...deadline }, cause)
    return { result: "done" }
  },
})

/** Asks the carrier about a call's legs, until it is over and known when the caller went. */
export const callWatch = reaction({
  kind: "check-call",
  payload: z.object({ callId: idSchema(parseCallId) }),
  from: {
    CallOffered: ({ callId, at }) => [
      { name: callId, payload: { callId }, dueAt: at + SILENCE_MS },
    ],
  },
  giveUp: "owed",
  perform: async (ports, { companyId, name, payload: { callId } }) => {
    const place = { companyId, callId }
    const cause = causedBy(`check-call ${name}`)
    const known = await readCall(ports, place)
    const now = ports.clock.now()
    if (known === null || isOver(known)) return { result: "done" }
    const lookAt = known.lastAt + silenceOf(known)
    if (known.endedAt === null && lookAt > now) return { result: "later", dueAt: lookAt }
    await watch(ports, place, known, cause)
    const after = await readCall(ports, place)
    if (after === null || isOver(after)) return { result: "done" }
    if (after.endedAt !== null && now >= after.endedAt + ASK_FOR_MS) {
      await tellCall(ports, place, { type: "AssumeGone", callId }, cause)
      return { result: "done" }
    }
    return { result: "later", dueAt: now + silenceOf(after) }
  },
})

const silenceOf = ({ phase }: Live) => (phase === "talking" ? TALKING_MS : SILENCE_MS)
const isOver = ({ endedAt, goneAt }: Live) => endedAt !== null && goneAt !== null

/** Asks about all legs, and hangs the caller up once more who is there though the call is over. */
async function watch(
  ports: Pick<Ports, "clock" | "log" | "pacer" | "runner" | "voice">,
  place: CallPlace,
  call: Live,
  cause: Cause,
): Promise<void> {
  const { companyId, callId } = place
  const isThere = await seeCaller(ports, place, call, cause)
  if (isThere && call.endedAt !== null) await hangUpAgain(ports, place, call)
  for (const { leg, ref } of call.legs.filter(isAlive)) {
    if (ref === null) continue
    const asked = ports.voice.askCall(ref)
    const knowledge = await knownInTime(ports.pacer, "the carrier of calls", asked)
    if (knowledge === null) continue
    for (const missed of missedOf(callId, leg, knowledge, call.heardAt)) {
      await tellCall(ports, { companyId, callId }, missed, cause)
    }
  }
}

async function hangUpAgain(
  ports: Pick<Ports, "clock" | "log" | "pacer" | "voice">,
  { companyId, callId }: CallPlace,
  call: Live,
) {
  const { voice, pacer, clock, log } = ports
  const command = { word: "hang_up" as const, leg: voiceLeg(companyId, call, 0) }
  try {
    const doing = voice.do(command, `${callId}:watch:${clock.now()}`)
    await inTime(pacer, "the carrier of calls", doing)
  } catch (error) {
    if (!isOutside(error)) throw error
    log.info("a call that is over could not be hung up", { callId, error: error.message })
  }
}
