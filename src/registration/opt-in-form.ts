/** What somebody agrees to on the form of hosted pages. */
import { parseTypedNumber } from "../frame/kernel/schema.ts"
import type { FormFault } from "./hosted-pages.ts"
import { TICKED } from "./hosted-pages.ts"
import type { TextingPages } from "./texting-pages.ts"

const MAX_NAME = 80
const MAX_PHONE = 40

/** What they agree to. */
export interface OptInForm {
  /** In full (E.164), and such that it can be texted. */
  readonly phone: string
  /** Empty where it was not said. */
  readonly firstName: string
  readonly service: boolean
  readonly offers: boolean
}

/** What a form says; or what is wrong with it, and what was typed. */
export function parseOptInForm(
  values: ReadonlyMap<string, string>,
  pages: Pick<TextingPages, "offers">,
): OptInForm | { readonly fault: FormFault } {
  const said = (name: string) => cleanLine(values.get(name) ?? "")
  const [phone, firstName] = [said("phone"), said("firstName")]
  // What the boxes of the page send, and nothing else: whoever writes "no" does not agree.
  const isTicked = (name: string) => values.get(name) === TICKED
  const service = isTicked("service")
  // A box that is not there was not ticked.
  const offers = pages.offers && isTicked("offers")
  const typed = { phone: truncate(phone, MAX_PHONE), firstName: truncate(firstName, MAX_NAME) }
  const fault = (field: FormFault["field"], message: string) => {
    return { fault: { field, message, ...typed, service, offers } }
  }
  const number = [...phone].length > MAX_PHONE ? null : parseTypedNumber(phone)
  if (number === null) {
    return fault(
      "phone",
      "Enter a mobile number, such as (415) 555-0123. Of another country it begins with a +.",
    )
  }
  if ([...firstName].length > MAX_NAME) {
    return fault("firstName", `Enter a first name of at most ${MAX_NAME} characters, or none.`)
  }
  if (!service && !offers) {
    const which = pages.offers ? "Tick at least one box" : "Tick the box"
    return fault("boxes", `${which} if you agree to get texts. Without it nothing is sent to you.`)
  }
  return { phone: number, firstName, service, offers }
}

/** What turns the direction of what stands around it. */
const DIRECTION_MARKS = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** In one line, without what no text can hold, and without what shows it as another one. */
const cleanLine = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll("\0", "\ufffd")
    .replaceAll(DIRECTION_MARKS, "")
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()

const truncate = (text: string, most: number): string => [...text].slice(0, most).join("")
