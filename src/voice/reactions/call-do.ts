/** Has the carrier do what a call's facts ask for: in their order, call by call. */
import { z } from "zod"
import { inTime, isOutside } from "../../../adapters/providers/outside.ts"
import type { WorkResult } from "../../../adapters/postgres/jobs/port.ts"
import type { CallEvent } from "../../../domain/voice/call-events.ts"
import { AUDIO_KINDS } from "../../../domain/voice/call-events.ts"
import type { Direction } from "../../../domain/voice/directions.ts"
import { directionsOf } from "../../../domain/voice/directions.ts"
import { parseCallId } from "../../../domain/voice/ids.ts"
import { retryLater } from "../../frame/effects/ask-again.ts"
import type { At, Work } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { commandFor, isMeant } from "../carrier-commands.ts"
import type { CallPlace } from "../find-call.ts"
import { readCall, tellCall } from "../find-call.ts"
import { seeCaller } from "../pay-call.ts"

const leg = z.int()
const says = z.enum(["screening", "notice", "greeting"])
const DirectionSchema: z.ZodType<Direction> = z.union([
  z.object({ word: z.enum(["dial", "answer", "reject", "hang_up"]), leg }),
  z.object({ word: z.enum(["ask", "say"]), leg, says }),
  z.object({ word: z.literal("join"), leg, other: leg }),
  z.object({ word: z.literal("record"), leg, kind: z.enum(AUDIO_KINDS) }),
])

const Payload = z.object({
  callId: idSchema(parseCallId),
  /** Of the fact that asks for it: commands are named by it. */
  revision: z.int(),
  directions: z.array(DirectionSchema),
})

type Payload = z.infer<typeof Payload>

/** One row a fact; all of a call are one subject, so they are done in order. */
function follow(
  fact: CallEvent,
  { revision, stream }: Pick<At<"CallEnded">, "revision" | "stream">,
) {
  const { callId, at } = fact
  const directions = directionsOf(fact)
  if (directions.length === 0) return []
  const payload = { callId, revision, directions: [...directions] }
  return [{ name: `${callId}:${revision}`, subject: stream, payload, dueAt: at }]
}

/** Does what one fact asks for. */
export const callDo = reaction({
  kind: "send-call-command",
  payload: Payload,
  from: {
    LegsDialed: follow,
    LegPrompted: follow,
    LegHungUp: follow,
    CallAccepted: follow,
    RecordingNoticeStarted: follow,
    CallBridged: follow,
    GreetingStarted: follow,
    GreetingPlayed: follow,
    VoicemailStarted: follow,
    CallEnded: follow,
  },
  endsWithCompany: true,
  // Whoever is not told so is hung up by the deadline that stands behind it.
  giveUp: "nothing is lost",
  perform: async (ports, work): Promise<WorkResult> => {
    const cause = causedBy(`send-call-command ${work.name}`)
    try {
      for (const [i, direction] of work.payload.directions.entries()) {
        await direct(ports, work, direction, i, cause)
      }
      return { result: "done" }
    } catch (error) {
      if (!isOutside(error)) throw error
      // The same command ids again are the same commands, so all of them are given again.
      return retryLater(work, "the carrier of calls does not answer")
    }
  },
})

/** Does one thing, unless the call has gone on without it. @throws ProviderUnavailable, ProviderSilent */
async function direct(
  ports: Pick<Ports, "clock" | "pacer" | "readAll" | "runner" | "sealing" | "voice">,
  { companyId, payload: { callId, revision } }: Work<Payload>,
  direction: Direction,
  i: number,
  cause: Cause,
): Promise<void> {
  const place: CallPlace = { companyId, callId }
  const call = await readCall(ports, place)
  const now = ports.clock.now()
  if (call === null || !isMeant(call, direction, now)) return
  const gone = {
    type: "EndLeg" as const,
    callId,
    leg: direction.leg,
    goneAt: now,
    answeredAt: null,
  }
  const command = await commandFor(ports, companyId, call, direction)
  // Nobody may be called there, or the number was erased.
  if (command === null) return void (await tellCall(ports, place, gone, cause))
  const commandId = `${callId}:${revision}:${i}`
  const doing = ports.voice.do(command, commandId)
  const answer = await inTime(ports.pacer, "the carrier of calls", doing)
  if (answer.is === "gone") {
    // When the caller went the carrier knows best: minutes are counted by it.
    if (direction.leg === 0) await seeCaller(ports, place, call, cause)
    else await tellCall(ports, place, gone, cause)
    return
  }
  const { ref } = answer
  if (direction.word !== "dial" || ref === null) return
  await tellCall(ports, place, { type: "PlaceLeg", callId, leg: direction.leg, ref }, cause)
}
