/** `/api/v1/phone/settings`: a change is applied completely or not at all. */
import { z } from "zod"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import { parseNumberId } from "../../domain/phone/ids.ts"
import { normalizeKeyword, textKeywordOf } from "../../domain/phone/texting-rules.ts"
import type { NumberSettings } from "../../domain/phone/number-settings.ts"
import type { NumberSettingsChange } from "../../domain/phone/phone-commands.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import type { TextingSettings } from "../../domain/phone/phone-events.ts"
import { isDestinationEnabled, phoneSetupOf } from "../../domain/phone/phone-views.ts"
import { findHeldNumbers } from "../../projections/phone/numbers.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"
import {
  parseForwardingNumber,
  parseFullNumber,
  nonBlankText,
  boundedText,
} from "../frame/kernel/schema.ts"
import { phoneNumberFault, phoneStringSchema } from "../frame/kernel/phone-number-fault.ts"
import type { Ports } from "../frame/ports.ts"
import { disabledCountryMessage } from "./destinations.ts"
import { PhoneSettings, phoneSettingsReply } from "./settings-reply.ts"

type ForwardingNumber = NonNullable<ReturnType<typeof parseForwardingNumber>>

const URL = "/api/v1/phone/settings"
const MAX_NUMBERS = 50
const MAX_RING_TO = 5
const MAX_WORDS = 20

/** An extra opt-out word must match a complete text and must not opt in or ask for help. */
const optOutWord = nonBlankText(40).refine((word) => {
  const means = textKeywordOf(word, [])
  return normalizeKeyword(word) !== "" && means !== "start" && means !== "help"
}, "Must contain a letter or digit, and must not be START, HELP or a similar keyword.")

const TextingChange = z.object({
  optOutReply: nonBlankText(320).optional().describe("Reply to an opt-out"),
  optInReply: nonBlankText(320).optional().describe("Reply to an opt-in"),
  helpReply: nonBlankText(320).optional().describe("Reply to HELP"),
  extraOptOutWords: z
    .array(optOutWord)
    .max(MAX_WORDS)
    .transform((words) => [
      ...new Map(words.map((word) => [normalizeKeyword(word), word])).values(),
    ])
    .optional()
    .describe(`Up to ${MAX_WORDS} opt-out words in addition to STOP and its variants`),
  optOutLine: z
    .boolean()
    .optional()
    .describe("Whether the first text to a person explains how to stop"),
})

const RingTo = z.object({
  phone: phoneStringSchema.describe("E.164, in an enabled country"),
  name: nonBlankText(80).nullish().describe("Name of the person"),
})

const NumberPatch = z.object({
  id: boundedText(64).describe("Id of the number"),
  label: nonBlankText(40).nullable().optional().describe("The company's name for it"),
  ringMode: z
    .enum(["all", "order"])
    .optional()
    .describe("`all`: all phones concurrently; `order`: one after another"),
  ringTo: z
    .array(RingTo)
    .max(MAX_RING_TO)
    .refine(
      (phones) =>
        new Set(phones.map(({ phone }) => parseFullNumber(phone) ?? phone)).size === phones.length,
      "Must not contain the same phone number twice.",
    )
    .optional()
    .describe(`Up to ${MAX_RING_TO} phones; if empty, calls go to voicemail`),
  ringSeconds: z
    .int()
    .min(10)
    .max(60)
    .optional()
    .describe("How long they ring; with `order`, how long each rings"),
  screenCalls: z.boolean().optional().describe("Whether the person who answers must press 1"),
  recordCalls: z.boolean().optional().describe("Requires `acknowledgeRecording` the first time"),
  recordingNotice: nonBlankText(300)
    .nullable()
    .optional()
    .describe("Spoken to both sides before a recording; null: the default"),
  voicemail: z.boolean().optional().describe("Whether callers can leave a message"),
  voicemailGreeting: nonBlankText(500)
    .nullable()
    .optional()
    .describe("Spoken before a voicemail; null: the default"),
  optOutReply: nonBlankText(320).nullable().optional().describe("Null: the reply in `texting`"),
  acknowledgeRecording: z
    .boolean()
    .optional()
    .describe("You take responsibility that callers agree to be recorded"),
})

const SettingsPatch = z
  .object({
    texting: TextingChange.optional().describe("Changes of texting"),
    numbers: z
      .array(NumberPatch)
      .max(MAX_NUMBERS)
      .refine(
        (numbers) => new Set(numbers.map(({ id }) => id)).size === numbers.length,
        "Must not contain the same number twice.",
      )
      .optional()
      .describe(`Changes of up to ${MAX_NUMBERS} numbers`),
    acknowledgeRecording: z.boolean().optional().describe("The same, for all numbers"),
  })
  .refine((patch) => Object.keys(patch).length > 0, "Send the changes in texting or numbers.")
type SettingsPatch = z.infer<typeof SettingsPatch>
type NumberPatch = z.infer<typeof NumberPatch>

const NO_NUMBER = "The company has no number with this id; nothing was changed."
const ACKNOWLEDGE =
  "Must be true when recording is turned on for the first time: you take responsibility that callers agree to be recorded."

export const readPhoneSettings = route({
  name: "readPhoneSettings",
  method: "GET",
  url: URL,
  group: "phone",
  summary: "Read the settings of texting and numbers",
  operation: "phone.overview.read",
  isCounted: true,
  reply: PhoneSettings,
  readStreams: [phoneStreamOf, registrationStreamOf],
  handle: async (ports, { companyId }) => {
    const setUp = await ports.runner.read(phoneStreamOf(companyId), phoneSetupOf)
    return { ok: true, body: await phoneSettingsReply(ports, companyId, setUp) }
  },
})

export const changePhoneSettings = route({
  name: "changePhoneSettings",
  method: "PATCH",
  url: URL,
  group: "phone",
  summary: "Change the settings of texting and numbers",
  example: { body: { texting: { helpReply: "Write to help@acme.example." } } },
  operation: "phone.settings.write",
  isCounted: true,
  body: SettingsPatch,
  reply: PhoneSettings,
  refusalCodes: ["not_found"],
  refusalMessages: { not_found: NO_NUMBER },
  specGap:
    "The specification does not show the method: PATCH, because fields that are not sent stay. Defaults: all phones ring for 25 seconds, the person who answers presses 1, nothing is recorded, callers can leave a message.",
  handle: async (ports, caller, { body }) => {
    const { companyId } = caller
    const ready = await settingsChangeFrom(ports, companyId, body)
    if ("refusal" in ready) return { ok: false, refusal: ready.refusal }
    const { keyId, personId } = caller.spender
    const command = { type: "ChangePhoneSettings" as const, ...ready, keyId, personId }
    const stream = phoneStreamOf(companyId)
    const done = await ports.runner.execute(stream, command, causeOf(caller), phoneSetupOf)
    if (done.accepted) {
      const answer = await phoneSettingsReply(ports, companyId, done.view)
      return { ok: true, body: answer, position: done.position }
    }
    const { code, numberId } = done.refusal
    if (code !== "not_acknowledged") return { ok: false, refusal: refusal("not_found", NO_NUMBER) }
    const index = body.numbers?.findIndex(({ id }) => id === numberId) ?? 0
    const field = `numbers.${index}.acknowledgeRecording`
    return { ok: false, refusal: invalidRefusal({ [field]: ACKNOWLEDGE }) }
  },
})

async function settingsChangeFrom(
  ports: Pick<Ports, "readAll" | "runner" | "sealing">,
  companyId: CompanyId,
  body: SettingsPatch,
) {
  const { texting = {}, numbers = [] } = body
  const changes: NumberSettingsChange[] = []
  const faults: Record<string, string> = {}
  for (const [index, patch] of numbers.entries()) {
    const numberId = parseNumberId(patch.id)
    if (numberId === null) return { refusal: refusal("not_found", NO_NUMBER) }
    const made = await numberChange(ports, companyId, numberId, patch)
    if ("faults" in made) {
      for (const [i, fault] of made.faults) faults[`numbers.${index}.ringTo.${i}.phone`] = fault
    } else changes.push(made)
  }
  if (Object.keys(faults).length > 0) return { refusal: invalidRefusal(faults) }
  const acknowledges = [body, ...numbers].some((one) => one.acknowledgeRecording === true)
  return {
    texting: await textingChange(ports, companyId, texting),
    numbers: changes,
    acknowledgesRecording: acknowledges,
  }
}

function withoutUndefined<T extends object>(changes: T): Partial<T> {
  const entries = Object.entries(changes).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Partial<T>
}

async function textingChange(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { extraOptOutWords, optOutLine, ...replies }: z.infer<typeof TextingChange>,
): Promise<Partial<TextingSettings>> {
  const seal = async (text: string | undefined) =>
    text === undefined ? undefined : sealing.seal(companyId, COMPANY_SUBJECT, text)
  const words = extraOptOutWords?.map((word) => sealing.seal(companyId, COMPANY_SUBJECT, word))
  return withoutUndefined({
    optOutReply: await seal(replies.optOutReply),
    optInReply: await seal(replies.optInReply),
    helpReply: await seal(replies.helpReply),
    extraOptOutWords: words === undefined ? undefined : await Promise.all(words),
    optOutLine,
  }) as Partial<TextingSettings>
}

async function numberChange(
  ports: Pick<Ports, "readAll" | "runner" | "sealing">,
  companyId: CompanyId,
  numberId: NumberId,
  { id: _id, acknowledgeRecording: _acknowledge, ...patch }: NumberPatch,
): Promise<NumberSettingsChange | { readonly faults: readonly (readonly [number, string])[] }> {
  const seal = (text: string) => ports.sealing.seal(companyId, COMPANY_SUBJECT, text)
  const sealOr = async <T extends null | undefined>(text: string | T): Promise<SealedText | T> =>
    typeof text === "string" ? seal(text) : text
  const { label, recordingNotice, voicemailGreeting, optOutReply, ringTo, ...rest } = patch
  const targetsOrFaults =
    ringTo === undefined ? undefined : await ringTargets(ports, companyId, ringTo)
  if (targetsOrFaults?.faults !== undefined) return targetsOrFaults
  const targets = targetsOrFaults?.targets.map(async ({ phone, name }) => {
    return { phone: await seal(phone), name: await sealOr(name) }
  })
  const settings = withoutUndefined({
    ...rest,
    label: await sealOr(label),
    recordingNotice: await sealOr(recordingNotice),
    voicemailGreeting: await sealOr(voicemailGreeting),
    optOutReply: await sealOr(optOutReply),
    ringTo: targets === undefined ? undefined : await Promise.all(targets),
  }) as Partial<NumberSettings>
  return { numberId, settings }
}

/** The phones in E.164, or their faults by index. They are checked again when they ring. */
async function ringTargets(
  { runner, readAll }: Pick<Ports, "readAll" | "runner">,
  companyId: CompanyId,
  ringTo: readonly z.infer<typeof RingTo>[],
) {
  const read = ringTo.map(({ phone, name = null }) => ({
    phone,
    parsed: parseForwardingNumber(phone),
    name,
  }))
  const numbers = read.flatMap(({ parsed }) => parsed?.number ?? [])
  const held = await findHeldNumbers(readAll, numbers)
  const enabled = await runner.read(phoneStreamOf(companyId), (state) => {
    return read.map(({ parsed }) => parsed !== null && isDestinationEnabled(state, parsed.country))
  })
  const faults = read.flatMap(({ phone, parsed }, i) => {
    const fault =
      parsed === null
        ? (phoneNumberFault(phone) ?? NOT_CALLABLE)
        : ringFault(parsed, enabled[i] === true, held)
    return fault === null ? [] : [[i, fault] as const]
  })
  if (faults.length > 0) return { faults, targets: [] }
  return {
    faults: undefined,
    targets: read.map(({ parsed, name }) => ({ phone: parsed?.number ?? "", name })),
  }
}

const NOT_CALLABLE =
  "Calls cannot be forwarded to this number: it costs a premium or does not exist."

function ringFault(
  { number, country }: ForwardingNumber,
  isEnabled: boolean,
  held: ReadonlySet<string>,
): string | null {
  // Two numbers that forward to each other would ring forever.
  if (held.has(number)) return "Calls cannot be forwarded to a number of this service."
  return isEnabled ? null : disabledCountryMessage("Calls", country)
}
