/** Random commands for a recipient's stream. IDs are few, so that commands interact. */
import fc from "fast-check"
import { commandArbitrary } from "../kernel/command-histories.ts"
import { weighted } from "../projections/ledger-steps.ts"
import type { RecipientCommand } from "../../domain/phone/recipient.ts"
import {
  ADD_OPT_OUT_COMMAND,
  NOW,
  REMOVE_OPT_OUT_COMMAND,
  optInByFormCommand,
  queueTextCommand,
  receiveTextCommand,
  receiveStartCommand,
  receiveStopCommand,
} from "./recipient-facts.ts"

const messageId = fc.constantFrom("msg_1", "msg_2", "msg_3", "msg_4")
const incoming = fc.constantFrom("msg_in_1", "msg_in_2", "msg_in_3", "msg_in_4", "msg_in_5")

const carrierId = fc.constant("carrier_1")
const phone = fc.constant(ADD_OPT_OUT_COMMAND.phone)
const rejected = { messageId, errorCode: fc.constant("30007") }
const report = { messageId, carrierId, delivered: fc.boolean(), errorCode: fc.constant(null) }

/** A random command at `NOW`. */
export const recipientCommand = weighted<RecipientCommand>(
  [5, messageId.map((id) => queueTextCommand({ messageId: id, chargeId: `chg_${id}` }))],
  [1, messageId.map((id) => queueTextCommand({ messageId: id, chargedMicros: 9_000 }))],
  [3, commandArbitrary<RecipientCommand, "AcceptText">("AcceptText", { messageId, carrierId })],
  [3, commandArbitrary<RecipientCommand, "RejectText">("RejectText", rejected)],
  [
    1,
    commandArbitrary<RecipientCommand, "RecordCarrierOptOut">("RecordCarrierOptOut", {
      messageId,
      phone,
    }),
  ],
  [3, commandArbitrary<RecipientCommand, "ReportDelivery">("ReportDelivery", report)],
  [1, commandArbitrary<RecipientCommand, "AbandonText">("AbandonText", { messageId })],
  [2, incoming.map((id) => receiveStopCommand({ messageId: id, reply: null }))],
  [2, incoming.map((id) => receiveStartCommand({ messageId: id, reply: null }))],
  [1, incoming.map((id) => receiveTextCommand({ messageId: id }))],
  [2, fc.constantFrom(ADD_OPT_OUT_COMMAND, REMOVE_OPT_OUT_COMMAND)],
  [2, fc.constantFrom("opt_1", "opt_2").map((optInId) => optInByFormCommand({ optInId }))],
).map((one) => ({ ...one, at: NOW }))

/** Up to forty random commands. */
export const recipientCommands = fc.array(recipientCommand, { maxLength: 40, size: "max" })
