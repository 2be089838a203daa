/**
 * Opens the streams of a registered company. Each step is a command that records nothing when it
 * was done before, so the operator's command and the work row may both do it, in any order.
 */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { phoneOf } from "../../../domain/phone/aggregates.ts"
import { COMPANY_SUBJECT } from "../../../adapters/sealing/port.ts"
import type { CompanyPlan } from "../../../domain/company/companies.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { derivedId } from "../../frame/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"

/**
 * Opens access, ledger and the built-in test number of a company.
 *
 * @param place the company's place in the list of companies, from 0: no two have one test number
 */
export async function openCompany(
  ports: Ports,
  plan: CompanyPlan,
  place: number,
  cause: Cause,
): Promise<void> {
  const { runner } = ports
  const { companyId, name, pays, owner, fundsMicros } = plan
  const access = accessOf(companyId)
  const ledger = ledgerOf(companyId)
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
  if (plan.withNumber) await addTestNumber(ports, plan, place, cause)
}

async function addTestNumber(
  ports: Ports,
  { companyId }: CompanyPlan,
  place: number,
  cause: Cause,
): Promise<void> {
  const number = testNumber(place)
  await ports.runner.execute(
    phoneOf(companyId),
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

/** The built-in number of the company at this place: +1, an area code from 201, 555, four digits. */
function testNumber(place: number): string {
  const area = 201 + (Math.floor(place / 10_000) % 799)
  return `+1${area}555${String(place % 10_000).padStart(4, "0")}`
}
