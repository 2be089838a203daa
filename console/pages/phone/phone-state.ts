import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { phoneText } from "../../parts/phone-text.ts"

/** The phone at a glance. */
export function usePhoneState(isWanted = true) {
  return useApiQuery<Schema<"PhoneState">>(
    ["readPhoneState"],
    (api) => api.GET("/api/v1/phone/state"),
    isWanted,
  )
}

/** The numbers that texts can go out from, as choices. */
export function textSenderOptions({ numbers }: Pick<Schema<"PhoneState">, "numbers">) {
  return numbers
    .filter(({ sms }) => sms)
    .map(({ number }) => ({ value: number, label: phoneText(number) }))
}

/** Why a text is no full number; null where it may be one. The server knows best. */
export function numberFault(text: string): string | null {
  return /^\+[\d ().-]{7,20}$/.test(text.trim()) ? null : "A full number, such as +14155550123"
}

/** How registration of texting stands. */
export function useRegistration() {
  return useApiQuery<Schema<"RegistrationStatus">>(["readRegistration"], (api) =>
    api.GET("/api/v1/phone/registration"),
  )
}

type Ability = Schema<"OfferedNumber"> | Schema<"PhoneNumber">

/** Where a number is from. */
export function localityText({ kind, locality, region }: Ability): string {
  if (kind === "toll_free") return "Toll-free"
  return [locality, region].filter((one) => one !== null).join(", ") || "–"
}

/** What a number can do. */
export function abilitiesText({ sms, mms, voice }: Ability): string {
  const can = [sms ? "Texts" : null, mms ? "pictures" : null, voice ? "calls" : null]
  const text = can.filter((one) => one !== null).join(", ")
  return text === "" ? "–" : text.charAt(0).toUpperCase() + text.slice(1)
}
