/** What is written down some at a time, behind whoever asked for it. */
import { ledgerOf, refusalsOf } from "../../../domain/charging/aggregates.ts"
import type { ChargeRefused } from "../../../domain/charging/ledger-formats.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { openGatherer } from "../../frame/writer/gather.ts"
import type { Counts } from "../../frame/counts.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Runner } from "../../frame/writer/run.ts"

const MOST_AT_ONCE = 500

/** What gathers before it is stored: closings, which move no money, and evidence of refusals. */
export function openGathered(runner: Runner, log: Log, counts: Counts) {
  const closings = openGatherer<CompanyId, ChargeId>(MOST_AT_ONCE, async (companyId, chargeIds) => {
    const command = { type: "CloseCharges" as const, chargeIds }
    await runner.execute(ledgerOf(companyId), command, causedBy(newId("cmd")))
  })
  const refused = openGatherer<CompanyId, ChargeRefused>(
    MOST_AT_ONCE,
    async (companyId, refusals) => {
      const command = { type: "RecordRefusals" as const, refusals }
      await runner.execute(refusalsOf(companyId), command, causedBy(newId("cmd")))
    },
  )
  return {
    closeCharge: (companyId: CompanyId, chargeId: ChargeId) => closings.add(companyId, chargeId),
    keepRefusal: (companyId: CompanyId, refusal: ChargeRefused) => {
      counts.add("refused_charges", countedAs(refusal))
      refused.add(companyId, refusal).catch((error: unknown) => {
        log.warn("the evidence of a refusal could not be kept", error)
      })
    },
    settle: async () => {
      await runner.record()
      await closings.settled()
      await refused.settled()
    },
  }
}

/** What a refused charge is counted as: its code, and the limit that refused it, of whomever that is. */
function countedAs({ code, limits, refusingLimit }: ChargeRefused) {
  const by = refusingLimit === null ? undefined : limits[refusingLimit]
  const { holder = "", class: spending = "", period = "" } = by ?? {}
  return { code, holder, class: spending, period }
}
