/** Commands of a registration with defaults for tests, and random histories. IDs are few, so that commands interact. */
import fc from "fast-check"
import type { SealedText } from "../../domain/kernel/ids.ts"
import type {
  RegistrationCommand,
  SubmitPart,
} from "../../domain/registration/registration-commands.ts"
import { commandArbitrary, historiesOf } from "../kernel/command-histories.ts"
import { weighted } from "../projections/ledger-steps.ts"

/** Neither a key nor a person. */
const NO_ACTOR = { keyId: null, personId: null } as const

/** Saves the details of a company or a sole proprietor. */
export const saveBusinessCommand = (isSoleProprietor = false): RegistrationCommand => ({
  type: "SaveBusiness",
  business: "s1.co_1.YQ",
  isSoleProprietor,
  ...NO_ACTOR,
})

export const savePagesCommand: RegistrationCommand = {
  type: "SavePages",
  pages: "s1.co_1.Yg",
  mode: "hosted",
  ...NO_ACTOR,
  hostname: "texts.acme.example",
  slug: "ab12",
}

/** Records a check of the pages with `problems` problems. */
export const recordCheckCommand = (problems = 0): RegistrationCommand => ({
  type: "RecordPagesCheck",
  pages: "s1.co_1.Yg",
  problems: Array.from({ length: problems }, () => ({ page: "texts", code: "no_stop" })),
  read: [{ page: "texts", sha256: "ab12" }],
})

export const saveCampaignCommand: RegistrationCommand = {
  type: "SaveCampaign",
  campaign: "s1.co_1.Yw",
  brandType: "low_volume",
  ...NO_ACTOR,
}

/** Submits a part, by default the business. */
export const submitPartCommand = (changed: Partial<SubmitPart> = {}): SubmitPart => ({
  type: "SubmitPart",
  part: "business",
  submissionId: "reg_1",
  brandType: "low_volume",
  live: false,
  rush: false,
  chargeId: null,
  fee: changed.chargeId ? "fee" : "none",
  ...NO_ACTOR,
  ...changed,
})

/** Submits the campaign. */
export const submitCampaignCommand = (changed: Partial<SubmitPart> = {}): SubmitPart =>
  submitPartCommand({ part: "campaign", submissionId: "reg_2", brandType: null, ...changed })

const submissionId = fc.constantFrom("reg_1", "reg_2", "reg_3", "reg_4", "reg_5", "reg_6")
const numberId = fc.constantFrom("num_1", "num_2")
const verdict = fc.constantFrom("approved", "approved", "action_needed", "rejected")
const reasons = fc.constantFrom<readonly SealedText[]>([], ["s1.co_1.Yg"])

const submitPart = fc
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
const undeliverable = { submissionId, cause: fc.constant("unavailable"), reasons: fc.constant([]) }

const command = weighted<RegistrationCommand>(
  [2, fc.boolean().map(saveBusinessCommand)],
  [2, fc.constant(savePagesCommand)],
  [3, fc.constantFrom(0, 0, 1).map(recordCheckCommand)],
  [2, fc.constant(saveCampaignCommand)],
  [8, submitPart],
  [
    1,
    commandArbitrary<RegistrationCommand, "AbandonSubmission">("AbandonSubmission", {
      submissionId,
    }),
  ],
  [
    3,
    commandArbitrary<RegistrationCommand, "MarkPartReceived">("MarkPartReceived", {
      submissionId,
      carrierRef,
    }),
  ],
  [
    2,
    commandArbitrary<RegistrationCommand, "MarkPartUndeliverable">(
      "MarkPartUndeliverable",
      undeliverable,
    ),
  ],
  [
    6,
    commandArbitrary<RegistrationCommand, "ReviewPart">("ReviewPart", {
      submissionId,
      verdict,
      reasons,
    }),
  ],
  [
    2,
    commandArbitrary<RegistrationCommand, "ReviewNumber">("ReviewNumber", {
      numberId,
      verdict,
      reasons,
    }),
  ],
  [
    2,
    commandArbitrary<RegistrationCommand, "ApproveTestSubmissions">("ApproveTestSubmissions", {
      numberIds: fc.array(numberId, { maxLength: 2 }),
    }),
  ],
)

/** Random histories of a company's registration. */
export const registrationHistories = historiesOf(command)
