import { z } from "zod"
import { phoneStreamOf } from "../../../domain/phone/aggregates.ts"
import { listHeldNumbers } from "../../../domain/phone/phone-views.ts"
import { companyInput, findCompany } from "../../frame/operator/inputs.ts"
import { isCountry } from "../../frame/kernel/schema.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"
import { phoneNumberReply } from "../number-reply.ts"

const list = operation({
  name: "number list",
  summary: "list a company's numbers with their rent",
  notes: ["Times are UTC. A number with refused rent is released at releasedUnlessPaidBy."],
  example: "number list --company acme",
  input: z.object({ company: companyInput }),
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    const held = await ports.runner.readLatest(phoneStreamOf(companyId), listHeldNumbers)
    const numbers = await Promise.all(held.map((one) => phoneNumberReply(ports, companyId, one)))
    return { numbers: numbers.filter((one) => one !== null) }
  },
})

const country = z
  .string()
  .transform((text) => text.toUpperCase())
  .refine(isCountry, "must be the two letters of a country, such as JM")
  .meta({ description: "two letters, such as JM", takes: "country" })

const switchDestinationOperation = (on: boolean) =>
  operation({
    name: on ? "destination add" : "destination remove",
    summary: on
      ? "enable a country for a company, including countries that it cannot enable itself"
      : "disable a country for a company",
    example: `destination ${on ? "add" : "remove"} --company acme --country JM`,
    changes: true,
    input: z.object({ company: companyInput, country }),
    run: async ({ ports, cause }, { company: named, country: code }) => {
      const companyId = await findCompany(ports, named)
      const command = { type: "SwitchDestination" as const, country: code, on }
      const by = { by: "support" as const, keyId: null, personId: null }
      const done = await ports.runner.execute(
        phoneStreamOf(companyId),
        { ...command, ...by },
        cause,
      )
      if (done.accepted) return { companyId, country: code, on, changed: done.facts.length > 0 }
      const message =
        done.refusal.code === "always_on"
          ? "The US and Canada are always enabled; they cannot be changed."
          : "Texts and calls to this country are not supported."
      throw new OperatorRefused("conflict", message)
    },
  })

export const numberOperations: readonly AdminOperation[] = [
  list,
  switchDestinationOperation(true),
  switchDestinationOperation(false),
]
