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

const NOT_WAITING =
  "This part is not waiting for the carriers: it was not sent, or has not reached them."

const answer = operation({
  name: "registration answer",
  summary: "record the carriers' answer to a registration",
  notes: [
    "PART is business, campaign, or number: followed by a number's id.",
    "The company sees --reason unless the outcome is approved.",
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
      .meta({ description: "the carriers' answer", argument: "OUTCOME" }),
  }),
  run: async ({ ports, cause }, { company: named, part, outcome }) => {
    const companyId = await findCompany(ports, named)
    const verdict: ReviewVerdict = outcome === "action-needed" ? "action_needed" : outcome
    // An approval needs no reasons.
    const reviewReasons = verdict === "approved" || cause.reason === null ? [] : [cause.reason]
    const reasons = await sealReasons(ports, companyId, reviewReasons)
    const command = await commandFor(ports, companyId, part, { verdict, reasons })
    // The reasons are sealed in the fact, so the cause must not repeat them in clear text.
    const storedCause = verdict === "approved" ? cause : { ...cause, reason: null }
    const done = await ports.runner.execute(registrationStreamOf(companyId), command, storedCause)
    if (!done.accepted) throw new OperatorRefused("conflict", NOT_WAITING)
    const { overall, parts } = await readRegistrationStatus(ports, companyId)
    const current = parts.find((one) => one.part === part)
    if (current?.status !== verdict) throw new OperatorRefused("conflict", NOT_WAITING)
    return { companyId, part, status: current.status, overall, changed: done.facts.length > 0 }
  },
})

async function commandFor(
  ports: Pick<Ports, "carrier" | "runner" | "sealing">,
  companyId: CompanyId,
  part: string,
  reviewReasons: Pick<Extract<RegistrationCommand, { type: "ReviewPart" }>, "verdict" | "reasons">,
): Promise<RegistrationCommand> {
  if (part === "business" || part === "campaign") {
    const { submissionId } = await ports.runner.readLatest(
      registrationStreamOf(companyId),
      (state) => partStateOf(state, part),
    )
    if (submissionId === null) throw new OperatorRefused("conflict", NOT_WAITING)
    return { type: "ReviewPart", submissionId, ...reviewReasons }
  }
  const numberId = parseNumberId(part.slice("number:".length))
  const { parts } = await readRegistrationStatus(ports, companyId)
  if (numberId === null || parts.every((one) => one.part !== part)) {
    const message = "The company's registration has no number with this id."
    throw new OperatorRefused("not_found", message)
  }
  return { type: "ReviewNumber", numberId, ...reviewReasons }
}

const code = operation({
  name: "registration code",
  summary: "confirm the code that the registry texted to a sole proprietor",
  notes: ["The code is valid for 24 hours after the business was sent."],
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
      throw new OperatorRefused("conflict", NOT_WAITING)
    }
    if (!(await verifyCode(ports, carrierRef, pin))) {
      throw new OperatorRefused(
        "conflict",
        "The registry rejected this code. Check the digits of the text.",
      )
    }
    await checkPartStatus(ports, { companyId, submissionId }, cause)
    const { parts } = await readRegistrationStatus(ports, companyId)
    return { companyId, status: parts.find(({ part }) => part === "business")?.status }
  },
})

async function verifyCode(
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
    throw new OperatorRefused("unavailable", `${error.message}. Try again.`)
  }
}

export const registrationOperations: readonly AdminOperation[] = [answer, code]
