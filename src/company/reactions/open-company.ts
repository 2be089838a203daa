/**
 * Opens the streams of a registered company. Each step is a command that records nothing if it ran
 * before, so the operator's command and the job may both run it, in any order.
 */
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { phoneStreamOf } from "../../../domain/phone/aggregates.ts"
import { z } from "zod"
import { COMPANY_SUBJECT } from "../../../adapters/sealing/port.ts"
import { PLANS } from "../../../domain/access/access-events.ts"
import type { CompanyRegistration } from "../../../domain/company/companies.ts"
import { parseCompanyId, parsePersonId } from "../../../domain/kernel/ids.ts"
import { idSchema, sealedTextSchema } from "../../frame/kernel/schema.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { derivedId } from "../../frame/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"

/**
 * Opens access, ledger and the built-in test number of a company.
 *
 * @param registrationIndex the company's index in the list of companies, from 0; it makes test
 * numbers unique
 */
export async function openCompany(
  ports: Pick<Ports, "runner" | "sealing">,
  plan: CompanyRegistration,
  registrationIndex: number,
  cause: Cause,
): Promise<void> {
  const { runner } = ports
  const { companyId, name, pays, owner, fundsMicros } = plan
  const access = accessStreamOf(companyId)
  const ledger = ledgerStreamOf(companyId)
  await runner.execute(
    access,
    { type: "OpenCompany", companyId, name, plan: plan.plan, pays },
    cause,
  )
  await runner.execute(
    access,
    { type: "AddPerson", ...owner, role: "owner", permissions: [] },
    cause,
  )
  await runner.execute(
    ledger,
    { type: "OpenLedger", prepaidOnly: false, creditLineMicros: 0 },
    cause,
  )
  if (fundsMicros > 0) {
    await runner.execute(
      ledger,
      { type: "AddFunds", amountMicros: fundsMicros, reference: "opening" },
      cause,
    )
  }
  if (plan.withNumber) await addTestNumber(ports, plan, registrationIndex, cause)
}

async function addTestNumber(
  ports: Pick<Ports, "runner" | "sealing">,
  { companyId }: CompanyRegistration,
  registrationIndex: number,
  cause: Cause,
): Promise<void> {
  const number = testNumber(registrationIndex)
  await ports.runner.execute(
    phoneStreamOf(companyId),
    {
      type: "AddNumber",
      numberId: derivedId("num", companyId, number),
      number: await ports.sealing.seal(companyId, COMPANY_SUBJECT, number),
      numberTag: await ports.sealing.tag(companyId, number),
      kind: "local",
      locality: null,
      region: null,
      sms: true,
      mms: false,
      voice: true,
      monthlyMicros: 0,
      paidThrough: null,
      test: true,
    },
    cause,
  )
}

/** Builds the test number of a company: +1, an area code from 201, 555 and four digits. */
function testNumber(registrationIndex: number): string {
  const area = 201 + (Math.floor(registrationIndex / 10_000) % 799)
  return `+1${area}555${String(registrationIndex % 10_000).padStart(4, "0")}`
}

/** Opens the streams of a registered company if the operator's command was interrupted. */
export const openCompanyReaction = reaction({
  kind: "open-company",
  payload: z.object({
    companyId: idSchema(parseCompanyId),
    name: sealedTextSchema,
    nameTag: z.string(),
    plan: z.enum(PLANS),
    pays: z.enum(["prepaid", "card"]),
    fundsMicros: z.number(),
    withNumber: z.boolean(),
    owner: z.object({
      personId: idSchema(parsePersonId),
      name: sealedTextSchema,
      email: sealedTextSchema,
      emailTag: z.string(),
    }),
    place: z.number(),
    // Older jobs have no actor.
    actor: z.string().nullish(),
  }),
  on: {
    CompanyRegistered: ({ type: _type, at: dueAt, ...plan }, { revision, actor }) => {
      const { companyId } = plan
      return [{ name: companyId, companyId, payload: { ...plan, place: revision, actor }, dueAt }]
    },
  },
  hasPersonalData: true,
  discard: "never",
  perform: async (ports, { payload: { place: registrationIndex, actor = null, ...plan } }) => {
    const cause = { ...causedBy(`open-company ${plan.companyId}`), actor }
    await openCompany(ports, plan, registrationIndex, cause)
    return { result: "done" }
  },
})
