/** Companies that send texts, and the check of their ledgers afterwards. */
import { LEDGER_AGGREGATE, ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { accountOf, pendingChargeIds, readLimits } from "../../domain/charging/ledger-views.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import { parseTextResource } from "../../domain/phone/text-resource.ts"
import { decodeStored } from "../../src/frame/kernel/envelope.ts"
import type { AdminPorts } from "../../src/frame/operator/operation.ts"
import { assertMeasurement } from "../benchmark.ts"
import { openLedgerAudit } from "../decide/ledger-audit.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"

/** More than all texts of a run cost, in dollars. */
const AMPLE_FUNDS = "100000"
/** Used up after a few texts. */
const TIGHT_LIMIT = "0.10"

export interface TextingCompany {
  readonly companyId: CompanyId
  readonly keys: readonly string[]
}

/** Opens a company with limits on it, its owner and each key; the first key's limit is soon used up. */
export async function openTextingCompany(
  { operate }: Pick<BenchInstallation, "operate">,
  name: string,
  keyCount: number,
): Promise<TextingCompany> {
  const opened = (await operate("company create", { name, funds: AMPLE_FUNDS })) as {
    readonly companyId: CompanyId
    readonly ownerId: PersonId
  }
  const { companyId: company, ownerId: person } = opened
  await operate("card set", { company, verified: true })
  const month = { company, period: "month", dollars: AMPLE_FUNDS }
  await operate("limit set", { ...month, class: "general" })
  await operate("limit set", { ...month, class: "general", person })
  const making = Array.from({ length: keyCount }, async (_, i) => {
    const made = (await operate("key create", { company, person, allOperations: true })) as {
      readonly keyId: KeyId
      readonly key: string
    }
    await operate("limit set", {
      ...month,
      key: made.keyId,
      ...(i === 0 ? { dollars: TIGHT_LIMIT } : {}),
    })
    return made.key
  })
  return { companyId: company, keys: await Promise.all(making) }
}

/**
 * Reads the ledgers of all companies again and compares them with the answers to callers.
 *
 * @throws InvalidMeasurement if an acknowledged text has no charge or two, a charge belongs to no acknowledged text, or
 *   a limit or the funds were exceeded
 */
export async function checkTexts(
  ports: AdminPorts,
  companies: readonly TextingCompany[],
  acknowledged: readonly string[],
): Promise<void> {
  const uncharged = new Set(acknowledged)
  assertMeasurement(
    uncharged.size === acknowledged.length,
    "two texts were acknowledged under one id",
  )
  let charged = 0
  for (const { companyId } of companies) {
    const stream = ledgerStreamOf(companyId)
    const audit = openLedgerAudit()
    let own = 0
    for await (const event of factsOf(ports, stream.stream)) {
      audit.record(event)
      if (event.type !== "Charged") continue
      own += 1
      const text = parseTextResource(event.resource ?? "")
      const isAcknowledged = text !== null && uncharged.delete(text.messageId)
      assertMeasurement(
        isAcknowledged,
        `charge ${event.chargeId} is of no acknowledged text, or a second one`,
      )
    }
    const { fundsMicros } = await ports.runner.readLatest(stream, accountOf)
    const open = await ports.runner.read(stream, pendingChargeIds)
    const limits = await ports.runner.read(stream, readLimits)
    audit.compare({ acknowledged: own, fundsMicros, openCharges: open, limits })
    assertMeasurement(open.length === 0, `${open.length} charges are still open`)
    charged += own
  }
  assertMeasurement(uncharged.size === 0, `${uncharged.size} acknowledged texts have no charge`)
  assertMeasurement(
    charged === acknowledged.length,
    `${acknowledged.length} texts acknowledged, ${charged} charged`,
  )
}

async function* factsOf({ store }: AdminPorts, stream: string): AsyncGenerator<LedgerEvent> {
  for await (const page of store.read(stream)) {
    for (const stored of page) yield decodeStored(LEDGER_AGGREGATE.codec, stored)
  }
}
