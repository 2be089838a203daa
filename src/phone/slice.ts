/** Numbers, text messages, and who may not be texted. */
import { carrier } from "./providers/carrier.ts"
import { carrierOperations } from "./operate/carrier.ts"
import { messageOperations } from "./operate/messages.ts"
import { PHONE, RECIPIENT } from "../../domain/phone/aggregates.ts"
import { messages } from "../../projections/phone/messages.ts"
import { optIns } from "../../projections/phone/opt-ins.ts"
import { numbers } from "../../projections/phone/numbers.ts"
import { optOuts } from "../../projections/phone/opt-outs.ts"
import type { Slice } from "../frame/slice.ts"
import { optInList } from "./list-opt-ins.ts"
import { listTexts } from "./list-messages.ts"
import { addOptOut, optOutList, removeOptOut } from "./opt-outs.ts"
import { textEffect } from "./reactions/text-effect.ts"
import { sendText } from "./send-text.ts"
import { reconciledText } from "./texts.ts"

/** Numbers, text messages and opt-outs. */
export const phone: Slice = {
  name: "phone",
  streams: { ofCompanies: [PHONE, RECIPIENT] },
  groups: {
    phone: `Texts: sending one, reading those of both directions, and who may not be texted.

A text is charged by its segments and handed to the carrier behind the answer; its \`status\` in the list says what came of
it. Where the carrier refuses it, the charge is given back. Whoever texts STOP is opted out and can only opt in again by
texting START.`,
  },
  routes: [listTexts, sendText, optOutList, addOptOut, removeOptOut, optInList],
  readModels: [messages, numbers, optIns, optOuts],
  reactions: textEffect,
  reconciled: [reconciledText],
  operations: [...carrierOperations, ...messageOperations],
  topics: { carrier: "the built-in test carrier", message: "text messages" },
  providers: [carrier],
}
