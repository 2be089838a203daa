/** What an operator says of a registration in the carriers' place, or gives back for a company. */
import { z } from "zod"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseNumberId } from "../../../domain/phone/ids.ts"
import { registrationStreamOf } from "../../../domain/registration/aggregates.ts"
import type { RegistrationCommand } from "../../../domain/registration/registration-commands.ts"
import type { ReviewVerdict } from "../../../domain/registration/registration-events.ts"
import { partStateOf } from "../../../domain/registration/registration-views.ts"
import {
  withProviderTimeout,
  isProviderError,
} from "../../../adapters/providers/provider-errors.ts"
import { companyInput, findCompany } from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import { sealReasons } from "../review-reasons.ts"
import { readRegistrationStatus } from "../registration-status.ts"
import { checkPartStatus } from "../reactions/check-part.ts"

const NOT_THERE =
  "The carriers have nothing of this part that they could answer: it was not sent, or is on its way."

const answer = operation({
  name: "registration answer",
  summary:
    "answer a registration in the carriers' place, or as they told you outside of this program",
  notes: [
    "PART is business, campaign, or number: and a number's id.",
    "What --reason says the company is told, unless it is approved.",
  ],
  example: "registration answer business approved --company acme --reason verified",
  changes: true,
  needsReason: true,
  input: z.object({
    company: companyInput,
    part: z
      .string()
      .regex(/^(?:business|campaign|number:num_\w+)$/, "must be business, campaign or number:num_…")
      .meta({ description: "business, campaign, or number:num_…", argument: "PART" }),
    outcome: z
      .enum(["approved", "rejected", "action-needed"])
      .meta({ description: "what they say", argument: "OUTCOME" }),
  }),
  run: async ({ ports, cause }, { company: named, part, outcome }) => {
    const companyId = await findCompany(ports, named)
    const verdict: ReviewVerdict = outcome === "action-needed" ? "action_needed" : outcome
    // An approval has nothing that anybody is to do.
    const said = verdict === "approved" || cause.reason === null ? [] : [cause.reason]
    const reasons = await sealReasons(ports, companyId, said)
    const command = await commandFor(ports, companyId, part, { verdict, reasons })
    // What carriers said is sealed with the fact, and stands nowhere else.
    const why = verdict === "approved" ? cause : { ...cause, reason: null }
    const done = await ports.runner.execute(registrationStreamOf(companyId), command, why)
    if (!done.accepted) throw new OperatorRefused("conflict", NOT_THERE)
    const { overall, parts } = await readRegistrationStatus(ports, companyId)
    const now = parts.find((one) => one.part === part)
    if (now?.status !== verdict) throw new OperatorRefused("conflict", NOT_THERE)
    return { companyId, part, status: now.status, overall, changed: done.facts.length > 0 }
  },
})

async function commandFor(
  ports: Pick<Ports, "carrier" | "runner" | "sealing">,
  companyId: CompanyId,
  part: string,
  said: Pick<Extract<RegistrationCommand, { type: "ReviewPart" }>, "verdict" | "reasons">,
): Promise<RegistrationCommand> {
  if (part === "business" || part === "campaign") {
    const { submissionId } = await ports.runner.readLatest(
      registrationStreamOf(companyId),
      (state) => partStateOf(state, part),
    )
    if (submissionId === null) throw new OperatorRefused("conflict", NOT_THERE)
    return { type: "ReviewPart", submissionId, ...said }
  }
  const numberId = parseNumberId(part.slice("number:".length))
  const { parts } = await readRegistrationStatus(ports, companyId)
  if (numberId === null || parts.every((one) => one.part !== part)) {
    const message = "No number of this id is part of the company's registration."
    throw new OperatorRefused("not_found", message)
  }
  return { type: "ReviewNumber", numberId, ...said }
}

const code = operation({
  name: "registration code",
  summary: "give back the code that the registry texted to a sole proprietor",
  notes: ["It is of use for 24 hours from when the business was sent."],
  example: "registration code 123456 --company acme",
  changes: true,
  input: z.object({
    company: companyInput,
    pin: z
      .string()
      .regex(/^\d{4,8}$/, "must be the digits of the text")
      .meta({ description: "the digits of the text", argument: "PIN" }),
  }),
  run: async ({ ports, cause }, { company: named, pin }) => {
    const companyId = await findCompany(ports, named)
    const { submissionId, carrierRef } = await ports.runner.readLatest(
      registrationStreamOf(companyId),
      (state) => partStateOf(state, "business"),
    )
    if (submissionId === null || carrierRef === null) {
      throw new OperatorRefused("conflict", NOT_THERE)
    }
    if (!(await isRight(ports, carrierRef, pin))) {
      throw new OperatorRefused("conflict", "The registry does not take this code.")
    }
    await checkPartStatus(ports, { companyId, submissionId }, cause)
    const { parts } = await readRegistrationStatus(ports, companyId)
    return { companyId, status: parts.find(({ part }) => part === "business")?.status }
  },
})

async function isRight(
  ports: Pick<Ports, "pacer" | "registry">,
  businessRef: string,
  pin: string,
): Promise<boolean> {
  try {
    return await withProviderTimeout(
      ports.pacer,
      "the registry",
      ports.registry.verifyCode(businessRef, pin),
    )
  } catch (error) {
    if (!isProviderError(error)) throw error
    throw new OperatorRefused("unavailable", `${error.message}; try it again.`)
  }
}

/** Operations on registrations. */
export const registrationOperations: readonly AdminOperation[] = [answer, code]
