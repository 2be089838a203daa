import { parseTypedNumber } from "../frame/kernel/schema.ts"
import type { FormFault } from "./hosted-pages.ts"
import { TICKED } from "./hosted-pages.ts"
import type { TextingPages } from "./texting-pages.ts"

const MAX_NAME = 80
const MAX_PHONE = 40

export interface OptInForm {
  /** E.164, of a number that can be texted. */
  readonly phone: string
  /** Empty if not given. */
  readonly firstName: string
  readonly service: boolean
  readonly offers: boolean
}

/** Parses the form; otherwise returns its fault and the typed values. */
export function parseOptInForm(
  values: ReadonlyMap<string, string>,
  pages: Pick<TextingPages, "offers">,
): OptInForm | { readonly fault: FormFault } {
  const valueOf = (name: string) => cleanLine(values.get(name) ?? "")
  const [phone, firstName] = [valueOf("phone"), valueOf("firstName")]
  // Only the exact value of a ticked box counts, so "no" never means consent.
  const isTicked = (name: string) => values.get(name) === TICKED
  const service = isTicked("service")
  const offers = pages.offers && isTicked("offers")
  const typed = { phone: truncate(phone, MAX_PHONE), firstName: truncate(firstName, MAX_NAME) }
  const fault = (field: FormFault["field"], message: string) => {
    return { fault: { field, message, ...typed, service, offers } }
  }
  const number = [...phone].length > MAX_PHONE ? null : parseTypedNumber(phone)
  if (number === null) {
    return fault(
      "phone",
      "Enter a mobile number, such as (415) 555-0123. Begin numbers of other countries with +.",
    )
  }
  if ([...firstName].length > MAX_NAME) {
    return fault(
      "firstName",
      `Enter a first name of at most ${MAX_NAME} characters, or leave it empty.`,
    )
  }
  if (!service && !offers) {
    const which = pages.offers ? "Tick at least one box" : "Tick the box"
    return fault(
      "boxes",
      `${which} if you agree to get texts. Without your consent we send nothing.`,
    )
  }
  return { phone: number, firstName, service, offers }
}

const DIRECTION_MARKS = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** One line of storable text without marks that change its direction. */
const cleanLine = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll("\0", "\ufffd")
    .replaceAll(DIRECTION_MARKS, "")
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim()

const truncate = (text: string, limit: number): string => [...text].slice(0, limit).join("")
