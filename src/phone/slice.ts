import { carrierProvider, examineCarrier } from "./providers/carrier.ts"
import { carrierOperations } from "./operate/carrier.ts"
import { messageOperations } from "./operate/messages.ts"
import { numberOperations } from "./operate/numbers.ts"
import { PHONE_AGGREGATE, RECIPIENT_AGGREGATE } from "../../domain/phone/aggregates.ts"
import { messagesReadModel } from "../../projections/phone/messages.ts"
import { optInsReadModel } from "../../projections/phone/opt-ins.ts"
import { numbersReadModel } from "../../projections/phone/numbers.ts"
import { optOutsReadModel } from "../../projections/phone/opt-outs.ts"
import type { Slice } from "../frame/slice.ts"
import { buyNumber } from "./buy-number.ts"
import { readDestinations, switchDestination } from "./destinations.ts"
import { eraseNumbers, releaseNumber } from "./release-number.ts"
import { optInList } from "./list-opt-ins.ts"
import { listTexts } from "./list-messages.ts"
import { addOptOut, optOutList, removeOptOut } from "./opt-outs.ts"
import { releaseAtCarrier } from "./reactions/release-at-carrier.ts"
import { collectRent } from "./reactions/rent.ts"
import { sendRentNotice } from "./reactions/send-rent-notice.ts"
import { configureReplies } from "./reactions/configure-replies.ts"
import { readPhoneState } from "./read-state.ts"
import { searchNumbers } from "./search-numbers.ts"
import { sendText } from "./send-text.ts"
import { changePhoneSettings, readPhoneSettings } from "./settings.ts"
import { carrierSweep } from "./sweep-carrier.ts"
import { telnyxSettings } from "../frame/telnyx-settings.ts"
import { telnyxTextWebhooks } from "./webhooks/telnyx.ts"

/** Numbers, text messages and opt-outs. */
export const phoneSlice: Slice = {
  name: "phone",
  streams: { perCompany: [PHONE_AGGREGATE, RECIPIENT_AGGREGATE] },
  groups: {
    phone: `Phone numbers, texts in both directions, calls, recordings and opt-outs.

A number is charged for a month when it is bought, and again on that day of each month. If a month cannot be charged, the
number sends nothing and the charge is tried again each day; after 14 days the number is released.

A text is charged by its segments and passed to the carrier after the answer; its \`status\` in the list shows the
outcome. If the carrier rejects it, the charge is refunded. A person who texts STOP is opted out and can only opt in again
by texting START.

A call that is answered by a person or by the voicemail greeting is charged to the company for each started minute.

A recording or voicemail is listed among the recordings once its audio is stored. It is MP3 and supports byte ranges.
Each night, recordings that exceed their retention are deleted, and the stored minutes are charged.`,
  },
  routes: [
    readPhoneState,
    listTexts,
    sendText,
    readPhoneSettings,
    changePhoneSettings,
    optOutList,
    addOptOut,
    removeOptOut,
    optInList,
    searchNumbers,
    buyNumber,
    releaseNumber,
    readDestinations,
    switchDestination,
  ],
  readModels: [messagesReadModel, numbersReadModel, optInsReadModel, optOutsReadModel],
  reactions: [releaseAtCarrier, collectRent, sendRentNotice, configureReplies],
  erase: eraseNumbers,
  commands: [...carrierOperations, ...messageOperations, ...numberOperations],
  topics: {
    carrier: "the carrier for texts",
    message: "text messages",
    number: "phone numbers",
    destination: "countries that companies can text and call",
  },
  settings: [telnyxSettings],
  providers: [carrierProvider],
  webhooks: telnyxTextWebhooks,
  daemons: [carrierSweep],
  doctorCheck: examineCarrier,
}
