/** The routes of the phone slice, in the order of the specification. */
import type { Route } from "../frame/calls/route.ts"
import { listTexts } from "./list-messages.ts"
import { addOptOut, optOutList, removeOptOut } from "./opt-outs.ts"
import { sendText } from "./send-text.ts"

/** Texts and opt-outs. */
export const phoneRoutes: readonly Route[] = [
  listTexts,
  sendText,
  optOutList,
  addOptOut,
  removeOptOut,
]
