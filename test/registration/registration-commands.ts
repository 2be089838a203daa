/** Commands to a registration, as its tests name them and as chance makes them. Names are few, so that they meet. */
import fc from "fast-check"
import type { SealedText } from "../../domain/kernel/ids.ts"
import type {
  RegistrationCommand,
  SubmitPart,
} from "../../domain/registration/registration-commands.ts"
import { commandArbitrary, historiesOf } from "../kernel/command-histories.ts"
import { weighted } from "../projections/ledger-steps.ts"

/** Nobody of the company's. */
const NOBODY = { keyId: null, personId: null } as const

/** Saves the details of a company, or of one person. */
export const saveBusinessCommand = (isSoleProprietor = false): RegistrationCommand => ({
  type: "SaveBusiness",
  business: "s1.co_1.YQ",
  isSoleProprietor,
  ...NOBODY,
})

/** Saves the pages. */
export const savePagesCommand: RegistrationCommand = {
  type: "SavePages",
  pages: "s1.co_1.Yg",
  mode: "hosted",
  ...NOBODY,
  hostname: "texts.acme.example",
  slug: "ab12",
}

/** Records a look at the pages, with so many problems. */
export const recordCheckCommand = (problems = 0): RegistrationCommand => ({
  type: "RecordPagesCheck",
  pages: "s1.co_1.Yg",
  problems: Array.from({ length: problems }, () => ({ page: "texts", code: "no_stop" })),
  read: [{ page: "texts", sha256: "ab12" }],
})

/** Saves the campaign. */
export const saveCampaignCommand: RegistrationCommand = {
  type: "SaveCampaign",
  campaign: "s1.co_1.Yw",
  brandType: "low_volume",
  ...NOBODY,
}

/** Sends a part. */
export const submitPartCommand = (changed: Partial<SubmitPart> = {}): SubmitPart => ({
  type: "SubmitPart",
  part: "business",
  submissionId: "reg_1",
  brandType: "low_volume",
  live: false,
  rush: false,
  chargeId: null,
  fee: changed.chargeId ? "fee" : "none",
  ...NOBODY,
  ...changed,
})

/** Sends the campaign. */
export const submitCampaignCommand = (changed: Partial<SubmitPart> = {}): SubmitPart =>
  submitPartCommand({ part: "campaign", submissionId: "reg_2", brandType: null, ...changed })

const submissionId = fc.constantFrom("reg_1", "reg_2", "reg_3", "reg_4", "reg_5", "reg_6")
const numberId = fc.constantFrom("num_1", "num_2")
const verdict = fc.constantFrom("approved", "approved", "action_needed", "rejected")
const reasons = fc.constantFrom<readonly SealedText[]>([], ["s1.co_1.Yg"])

type Of = RegistrationCommand

const sending = fc
  .record({
    part: fc.constantFrom("business", "business", "campaign"),
    submissionId,
    brand: fc.constantFrom("low_volume", "low_volume", "standard", "sole_proprietor"),
    live: fc.boolean(),
    rush: fc.constantFrom(false, false, false, true),
    fee: fc.constantFrom("none", "none", "fee", "fee", "fee", "fee_with_rush", "rush"),
  })
  .map(({ brand, ...rest }) => {
    const brandType = rest.part === "business" ? brand : null
    return submitPartCommand({ ...rest, brandType, chargeId: rest.fee === "none" ? null : "chg_1" })
  })
const carrierRef = fc.constant("ref")
const unreached = { submissionId, cause: fc.constant("unavailable"), reasons: fc.constant([]) }

const command = weighted<Of>(
  [2, fc.boolean().map(saveBusinessCommand)],
  [2, fc.constant(savePagesCommand)],
  [3, fc.constantFrom(0, 0, 1).map(recordCheckCommand)],
  [2, fc.constant(saveCampaignCommand)],
  [8, sending],
  [1, commandArbitrary<Of, "AbandonSubmission">("AbandonSubmission", { submissionId })],
  [3, commandArbitrary<Of, "MarkPartReceived">("MarkPartReceived", { submissionId, carrierRef })],
  [2, commandArbitrary<Of, "MarkPartUndeliverable">("MarkPartUndeliverable", unreached)],
  [6, commandArbitrary<Of, "ReviewPart">("ReviewPart", { submissionId, verdict, reasons })],
  [2, commandArbitrary<Of, "ReviewNumber">("ReviewNumber", { numberId, verdict, reasons })],
  [
    2,
    commandArbitrary<Of, "ApproveTestSubmissions">("ApproveTestSubmissions", {
      numberIds: fc.array(numberId, { maxLength: 2 }),
    }),
  ],
)

/** Of a company's registration. */
export const registrationHistories = historiesOf(command)
