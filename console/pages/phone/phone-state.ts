import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { phoneText } from "../../parts/phone-text.ts"

/** The state of the phone. */
export function usePhoneState(isEnabled = true) {
  return useApiQuery<Schema<"PhoneState">>(
    ["readPhoneState"],
    (api) => api.GET("/api/v1/phone/state"),
    isEnabled,
  )
}

/** The numbers that can send texts, as options. */
export function textSenderOptions({ numbers }: Pick<Schema<"PhoneState">, "numbers">) {
  return numbers
    .filter(({ sms }) => sms)
    .map(({ number }) => ({ value: number, label: phoneText(number) }))
}

/** Why a text is not a full number; null if it may be one. The server validates it completely. */
export function numberFault(text: string): string | null {
  return /^\+[\d ().-]{7,20}$/.test(text.trim())
    ? null
    : "Must be a full number, such as +14155550123"
}

/** The state of the registration. */
export function useRegistration() {
  return useApiQuery<Schema<"RegistrationStatus">>(["readRegistration"], (api) =>
    api.GET("/api/v1/phone/registration"),
  )
}

type Ability = Schema<"OfferedNumber"> | Schema<"PhoneNumber">

/** The location of a number. */
export function localityText({ kind, locality, region }: Ability): string {
  if (kind === "toll_free") return "Toll-free"
  return [locality, region].filter((one) => one !== null).join(", ") || "–"
}

/** The capabilities of a number. */
export function abilitiesText({ sms, mms, voice }: Ability): string {
  const can = [sms ? "Texts" : null, mms ? "pictures" : null, voice ? "calls" : null]
  const text = can.filter((one) => one !== null).join(", ")
  return text === "" ? "–" : text.charAt(0).toUpperCase() + text.slice(1)
}
