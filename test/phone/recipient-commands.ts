/** Random commands to a recipient's stream. Names are few, so that commands meet. */
import fc from "fast-check"
import type { Stamp } from "../../domain/kernel/decider.ts"
import type { RecipientCommand } from "../../domain/phone/recipient.ts"
import {
  ADD,
  NOW,
  REMOVE,
  agree,
  queue,
  receive,
  receiveStart,
  receiveStop,
} from "./recipient-facts.ts"

const messageId = fc.constantFrom("msg_1", "msg_2", "msg_3", "msg_4")
const incoming = fc.constantFrom("msg_in_1", "msg_in_2", "msg_in_3", "msg_in_4", "msg_in_5")

/** One of them, as it is decided at `NOW`. */
export const command: fc.Arbitrary<RecipientCommand & Stamp> = fc.oneof(
  { weight: 5, arbitrary: messageId.map((id) => queue({ messageId: id, chargeId: `chg_${id}` })) },
  {
    weight: 1,
    arbitrary: messageId.map((id) => queue({ messageId: id, chargedMicros: 9_000 })),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("AcceptText" as const),
      at: fc.constant(NOW),
      messageId,
      carrierId: fc.constant("carrier_1"),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("RejectText" as const),
      at: fc.constant(NOW),
      messageId,
      errorCode: fc.constant("30007"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("StopAtCarrier" as const),
      at: fc.constant(NOW),
      messageId,
      phone: fc.constant("s1.co_1.bnVtYmVy" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("ReportDelivery" as const),
      at: fc.constant(NOW),
      messageId,
      carrierId: fc.constant("carrier 1"),
      delivered: fc.boolean(),
      errorCode: fc.constant(null),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant("AbandonText" as const),
      at: fc.constant(NOW),
      messageId,
    }),
  },
  { weight: 2, arbitrary: incoming.map((id) => receiveStop({ messageId: id, reply: null })) },
  { weight: 2, arbitrary: incoming.map((id) => receiveStart({ messageId: id, reply: null })) },
  { weight: 1, arbitrary: incoming.map((id) => receive({ messageId: id })) },
  { weight: 2, arbitrary: fc.constantFrom(ADD, REMOVE) },
  {
    weight: 2,
    arbitrary: fc.constantFrom("opt_1", "opt_2").map((optInId) => agree({ optInId })),
  },
)

/** Up to forty of them. */
export const commands = fc.array(command, { maxLength: 40, size: "max" })
