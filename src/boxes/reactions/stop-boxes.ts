/** Stops the boxes of a company that was deleted: the keys that started them no longer work. */
import { z } from "zod"
import { boxStreamOf, slotsOf } from "../../../domain/boxes/aggregates.ts"
import { holdersOf } from "../../../domain/kernel/slots.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"

/** Stops all of them. */
export const stopBoxes = reaction({
  kind: "stop-boxes",
  payload: z.object({}),
  from: {
    LedgerClosed: ({ at }, { companyId, revision }) => [
      { name: `${companyId}:${revision}`, payload: {}, dueAt: at },
    ],
  },
  giveUp: "owed",
  perform: async ({ runner }, { companyId, name }) => {
    const cause = causedBy(`stop-boxes ${name}`)
    const live = await runner.readLatest(slotsOf(companyId), holdersOf)
    for (const boxId of live) {
      const command = { type: "StopBox" as const, boxId, reason: "key_changed" as const }
      const stream = boxStreamOf(companyId, boxId)
      await runner.execute(stream, { ...command, keyId: null, personId: null }, cause)
    }
    return { result: "done" }
  },
})
