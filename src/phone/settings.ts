/** `/api/v1/phone/settings`: how texting and numbers are set up; a change is made whole or not at all. */
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
import type { Ports } from "../frame/ports.ts"
import { PhoneSettings, phoneSettingsReply } from "./settings-reply.ts"

const URL = "/api/v1/phone/settings"
const MAX_NUMBERS = 50
const MAX_RING_TO = 5
const MAX_WORDS = 20

/** An opt-out word is compared as a whole text is; what opts in or asks for help cannot be one. */
const optOutWord = nonBlankText(40).refine((word) => {
  const means = textKeywordOf(word, [])
  return normalizeKeyword(word) !== "" && means !== "start" && means !== "help"
}, "Must have a letter or digit, and be no word that opts in or asks for help.")

const TextingChange = z.object({
  optOutReply: nonBlankText(320).optional().describe("What an opt-out is answered with"),
  optInReply: nonBlankText(320).optional().describe("What an opt-in is answered with"),
  helpReply: nonBlankText(320).optional().describe("What HELP is answered with"),
  extraOptOutWords: z
    .array(optOutWord)
    .max(MAX_WORDS)
    .transform((words) => [
      ...new Map(words.map((word) => [normalizeKeyword(word), word])).values(),
    ])
    .optional()
    .describe(`Up to ${MAX_WORDS} words that opt out beside STOP and its kind`),
  optOutLine: z.boolean().optional().describe("Whether a first text tells how to stop"),
})

const RingTo = z.object({
  phone: z.string().describe("Full number of a country that is switched on"),
  name: nonBlankText(80).nullish().describe("Whose it is"),
})

const NumberPatch = z.object({
  id: boundedText(64).describe("Which number"),
  label: nonBlankText(40).nullable().optional().describe("What the company calls it"),
  ringMode: z.enum(["all", "order"]).optional().describe("All at once, or one after another"),
  ringTo: z
    .array(RingTo)
    .max(MAX_RING_TO)
    .refine(
      (phones) => new Set(phones.map(({ phone }) => parseFullNumber(phone))).size === phones.length,
      "Must not name a phone twice.",
    )
    .optional()
    .describe(`Up to ${MAX_RING_TO} phones; none: straight to voicemail`),
  ringSeconds: z.int().min(10).max(60).optional().describe("How long they ring, or each of them"),
  screenCalls: z.boolean().optional().describe("Whether who answers presses 1"),
  recordCalls: z.boolean().optional().describe("The first time with `acknowledgeRecording`"),
  recordingNotice: nonBlankText(300)
    .nullable()
    .optional()
    .describe("What both hear before a recording; null: usual words"),
  voicemail: z.boolean().optional().describe("Whether callers can leave a message"),
  voicemailGreeting: nonBlankText(500)
    .nullable()
    .optional()
    .describe("What they hear before; null: usual"),
  optOutReply: nonBlankText(320).nullable().optional().describe("Null: as `texting` says"),
  acknowledgeRecording: z
    .boolean()
    .optional()
    .describe("You answer for it that whoever calls agrees to be recorded"),
})

const SettingsPatch = z
  .object({
    texting: TextingChange.optional().describe("What changes of texting"),
    numbers: z
      .array(NumberPatch)
      .max(MAX_NUMBERS)
      .refine(
        (numbers) => new Set(numbers.map(({ id }) => id)).size === numbers.length,
        "Must not name a number twice.",
      )
      .optional()
      .describe(`What changes of up to ${MAX_NUMBERS} numbers`),
    acknowledgeRecording: z.boolean().optional().describe("The same, for all of them"),
  })
  .refine((patch) => Object.keys(patch).length > 0, "Send what is to change: texting or numbers.")
type SettingsPatch = z.infer<typeof SettingsPatch>
type NumberPatch = z.infer<typeof NumberPatch>

const NO_NUMBER = "The company holds no number of this id; nothing was changed."
const ACKNOWLEDGE =
  "Send true with the first recording: you answer for it that whoever calls agrees to be recorded."

/** How it is set up. */
export const readPhoneSettings = route({
  name: "readPhoneSettings",
  method: "GET",
  url: URL,
  group: "phone",
  summary: "Read how texting and numbers are set up",
  operation: "phone.overview.read",
  isCounted: true,
  reply: PhoneSettings,
  readStreams: [phoneStreamOf, registrationStreamOf],
  handle: async (ports, { companyId }) => {
    const setUp = await ports.runner.read(phoneStreamOf(companyId), phoneSetupOf)
    return { ok: true, body: await phoneSettingsReply(ports, companyId, setUp) }
  },
})

/** Changes it. */
export const changePhoneSettings = route({
  name: "changePhoneSettings",
  method: "PATCH",
  url: URL,
  group: "phone",
  summary: "Change how texting and numbers are set up",
  example: { body: { texting: { helpReply: "Write to help@acme.example." } } },
  operation: "phone.settings.write",
  isCounted: true,
  body: SettingsPatch,
  reply: PhoneSettings,
  refusalCodes: ["not_found"],
  refusalMessages: { not_found: NO_NUMBER },
  specGap:
    "The specification does not show the verb: PATCH, because what is not sent stays. Where nothing was ever set: all phones ring for 25 seconds, who answers presses 1, nothing is recorded, callers can leave a message.",
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
    const place = body.numbers?.findIndex(({ id }) => id === numberId) ?? 0
    const field = `numbers.${place}.acknowledgeRecording`
    return { ok: false, refusal: invalidRefusal({ [field]: ACKNOWLEDGE }) }
  },
})

/** What is asked, sealed; or what is wrong with it. */
async function settingsChangeFrom(
  ports: Pick<Ports, "readAll" | "runner" | "sealing">,
  companyId: CompanyId,
  body: SettingsPatch,
) {
  const { texting = {}, numbers = [] } = body
  const changes: NumberSettingsChange[] = []
  const faults: Record<string, string> = {}
  for (const [place, patch] of numbers.entries()) {
    const numberId = parseNumberId(patch.id)
    if (numberId === null) return { refusal: refusal("not_found", NO_NUMBER) }
    const made = await numberChange(ports, companyId, numberId, patch)
    if ("faults" in made) {
      for (const [i, fault] of made.faults) faults[`numbers.${place}.ringTo.${i}.phone`] = fault
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

/** Without what was not sent. */
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
  const ring = ringTo === undefined ? undefined : await ringTargets(ports, companyId, ringTo)
  if (ring?.faults !== undefined) return ring
  const targets = ring?.targets.map(async ({ phone, name }) => {
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

/** Phones in full, or what is wrong with them by their places. They are looked at again when they ring. */
async function ringTargets(
  { runner, readAll }: Pick<Ports, "readAll" | "runner">,
  companyId: CompanyId,
  ringTo: readonly z.infer<typeof RingTo>[],
) {
  const read = ringTo.map(({ phone, name = null }) => ({
    called: parseForwardingNumber(phone),
    name,
  }))
  const numbers = read.flatMap(({ called }) => called?.number ?? [])
  const held = await findHeldNumbers(readAll, numbers)
  const isOn = await runner.read(phoneStreamOf(companyId), (state) => {
    return read.map(({ called }) => called !== null && isDestinationEnabled(state, called.country))
  })
  const faults = read.flatMap(({ called }, i) => {
    const fault = ringFault(called?.number ?? null, isOn[i] === true, held)
    return fault === null ? [] : [[i, fault] as const]
  })
  if (faults.length > 0) return { faults, targets: [] }
  return {
    faults: undefined,
    targets: read.map(({ called, name }) => ({ phone: called?.number ?? "", name })),
  }
}

function ringFault(number: string | null, isOn: boolean, held: ReadonlySet<string>): string | null {
  if (number === null) return "Must be a full number that can be called, and costs no premium."
  // Two that forward to each other would ring for ever.
  if (held.has(number)) return "Must be no number that is kept here."
  return isOn ? null : "Must be of a country that is switched on."
}
