/**
 * Ends a push that was accepted and of which nothing was heard since: its process ended on the way, or its
 * git did. Whether its refs moved is seen at the refs.
 */
import { z } from "zod"
import { parsePushId } from "../../../domain/code/code-events.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import { landed } from "../push-checks.ts"

/** Refs move within moments of a yes; one that moves later still is told of by its own end. */
const SETTLED_AFTER_MS = 60_000

/** The reaction. */
export const settlePush = reaction({
  kind: "reconcile-push",
  payload: z.object({ pushId: idSchema(parsePushId) }),
  from: {
    PushAccepted: ({ pushId, at }, { companyId }) => [
      {
        name: pushId,
        subject: `${companyId} pushes`,
        payload: { pushId },
        dueAt: at + SETTLED_AFTER_MS,
      },
    ],
  },
  until: {
    PushCompleted: ({ pushId }) => [pushId],
    RefsReconciled: ({ pushId }) => (pushId === null ? [] : [pushId]),
  },
  giveUp: "nothing is lost",
  endsWithCompany: true,
  perform: async (ports, work) => {
    const { companyId, name, payload } = work
    const pusher = { companyId, cause: causedBy(`reconcile-push ${name}`) }
    if (await landed(ports, pusher, payload.pushId)) return { result: "done" }
    return retryLater(work, "the refs moved on all the while")
  },
})
