/** Random commands to a recipient's stream. Names are few, so that commands meet. */
import fc from "fast-check"
import { commandOf } from "../kernel/command-histories.ts"
import { weighted } from "../projections/ledger-steps.ts"
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

type Of = RecipientCommand
const carrierId = fc.constant("carrier_1")
const phone = fc.constant(ADD.phone)
const rejected = { messageId, errorCode: fc.constant("30007") }
const report = { messageId, carrierId, delivered: fc.boolean(), errorCode: fc.constant(null) }

/** One of them, as it is decided at `NOW`. */
export const command = weighted<Of>(
  [5, messageId.map((id) => queue({ messageId: id, chargeId: `chg_${id}` }))],
  [1, messageId.map((id) => queue({ messageId: id, chargedMicros: 9_000 }))],
  [3, commandOf<Of, "AcceptText">("AcceptText", { messageId, carrierId })],
  [3, commandOf<Of, "RejectText">("RejectText", rejected)],
  [1, commandOf<Of, "StopAtCarrier">("StopAtCarrier", { messageId, phone })],
  [3, commandOf<Of, "ReportDelivery">("ReportDelivery", report)],
  [1, commandOf<Of, "AbandonText">("AbandonText", { messageId })],
  [2, incoming.map((id) => receiveStop({ messageId: id, reply: null }))],
  [2, incoming.map((id) => receiveStart({ messageId: id, reply: null }))],
  [1, incoming.map((id) => receive({ messageId: id }))],
  [2, fc.constantFrom(ADD, REMOVE)],
  [2, fc.constantFrom("opt_1", "opt_2").map((optInId) => agree({ optInId }))],
).map((one) => ({ ...one, at: NOW }))

/** Up to forty of them. */
export const commands = fc.array(command, { maxLength: 40, size: "max" })
