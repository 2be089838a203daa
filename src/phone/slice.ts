/** Numbers and how they are set up, text messages, and who may not be texted. */
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
    phone: `Numbers, and texts: sending one, reading those of both directions, and who may not be texted.

A number is charged a month when it is bought, and each month on that day. Where that cannot be charged nothing goes out
from it, it is asked for again each day, and after 14 days the number is gone.

A text is charged by its segments and handed to the carrier behind the answer; its \`status\` in the list says what came
of it. Where the carrier refuses it, the charge is given back. Whoever texts STOP is opted out and can only opt in again
by texting START.

A caller who hears the greeting is charged a minute, as one whose call is taken is: the company pays it.

A call that was recorded, or left a voicemail, is listed among the recordings once its audio is here. It is MP3, of which
any part can be asked for. Each night what is older than it is to be kept is deleted, and the minutes that are held are
charged.`,
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
    carrier: "the carrier of texts",
    message: "text messages",
    number: "phone numbers",
    destination: "countries that can be texted and called",
  },
  settings: [telnyxSettings],
  providers: [carrierProvider],
  webhooks: telnyxTextWebhooks,
  daemons: [carrierSweep],
  doctorCheck: examineCarrier,
}
