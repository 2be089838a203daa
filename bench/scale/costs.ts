/** The costs that all other figures are calculated from, measured on installations and on a store alone. */
import type { OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import type { BenchInstallation } from "../fixtures/bench-installation.ts"
import { measureAtSizes } from "../growth/points.ts"
import type { HttpCallers } from "../http/http-callers.ts"
import type { BareCharges } from "./bare-charges.ts"
import { openBareCharges } from "./bare-charges.ts"
import type { Costs } from "./capacity.ts"
import { APPEND_LINE } from "./figures.ts"
import type { MeasuredLedgers } from "./measured-ledgers.ts"
import { openMeasuredLedgers } from "./measured-ledgers.ts"
import { bytesOfLedger, measureCompanyList } from "./memory-of-ledgers.ts"
import type { MonthEnds } from "./month-ends.ts"
import { openMonthEnds } from "./month-ends.ts"
import type { SharedMeasurement } from "./shared-measurement.ts"
import { shareMeasurement } from "./shared-measurement.ts"
import type { AppendWorkers } from "./append-workers.ts"
import { openAppendWorkers } from "./append-workers.ts"
import type { StorageGrowth, CpuUsage } from "./resource-usage.ts"
import type { InstallationCosts } from "./installation-costs.ts"
import { openInstallationCosts } from "./installation-costs.ts"

/** The installations and stores to measure on. */
export interface CostFixtures {
  readonly house: BenchInstallation
  readonly callers: HttpCallers
  /** An installation on the test clock. */
  readonly monthly: BenchInstallation
  /** A store without followers. */
  readonly ground: StoreEnvironment
}

/** Costs, measured again in every round. */
export interface MeasuredCosts extends OpenBenchmark {
  /** The costs of this round, once all were measured. */
  readonly costs: () => Costs
}

const MICROS = 1_000_000

/** Opens the fixtures. */
export async function openCosts(
  { house, callers, monthly, ground }: CostFixtures,
  { signal, report }: Pick<BenchmarkContext, "signal" | "report">,
): Promise<MeasuredCosts> {
  report("scale: opening companies that text, spend or do nothing")
  const installed = await openInstallationCosts(house, callers, signal)
  const months = await openMonthEnds(monthly, signal)
  report("scale: writing ledgers that are loaded")
  const ledgers = await openMeasuredLedgers(ground, signal)
  const bare = await openBareCharges(ground, signal)
  const order = openAppendWorkers(ground, signal)
  const text = shareMeasurement(installed.text)
  const ofStore = storeMeasurements({ ground, ledgers, bare, order }, signal)
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      ...installationMeasurements(text, installed, months),
      ...ofStore.measure,
    },
    costs: () => {
      const { cpu: textCpu, databaseCpu: textDatabaseCpu, events: textEvents } = text.last()
      return { textCpu, textDatabaseCpu, textEvents, ...ofStore.costs() }
    },
    check: async () => {
      await ledgers.check()
      await bare.check()
      await order.check()
      house.assertNoWarnings()
      monthly.assertNoWarnings()
    },
    close: order.close,
  }
}

function installationMeasurements(
  text: SharedMeasurement<CpuUsage & StorageGrowth>,
  installed: InstallationCosts,
  months: MonthEnds,
): OpenBenchmark["measure"] {
  const charge = shareMeasurement(installed.charge)
  const company = shareMeasurement(installed.company)
  const rest = shareMeasurement(installed.idle)
  const month = shareMeasurement(months.end)
  return {
    ...text.figures({
      textCpu: ({ cpu }) => cpu,
      textDatabaseCpu: ({ databaseCpu }) => databaseCpu,
      textEvents: ({ events }) => events,
      textRows: ({ rows }) => rows,
      textBytes: ({ bytes }) => bytes,
      textLogBytes: ({ logBytes }) => logBytes,
    }),
    ...charge.figures({
      chargeCpu: ({ cpu }) => cpu,
      chargeDatabaseCpu: ({ databaseCpu }) => databaseCpu,
      chargeRows: ({ rows }) => rows,
      chargeBytes: ({ bytes }) => bytes,
      chargeLogBytes: ({ logBytes }) => logBytes,
    }),
    ...company.figures({ companyRows: ({ rows }) => rows, companyBytes: ({ bytes }) => bytes }),
    ...rest.figures({
      restCpu: ({ cpu }) => cpu,
      restDatabaseCpu: ({ databaseCpu }) => databaseCpu,
    }),
    ...month.figures({
      monthCpu: ({ cpu }) => cpu,
      monthDatabaseCpu: ({ databaseCpu }) => databaseCpu,
      monthRows: ({ rows }) => rows,
      monthBytes: ({ bytes }) => bytes,
    }),
  }
}

interface StoreFixtures {
  readonly ground: StoreEnvironment
  readonly ledgers: MeasuredLedgers
  readonly bare: BareCharges
  readonly order: AppendWorkers
}

function storeMeasurements({ ground, ledgers, bare, order }: StoreFixtures, signal: AbortSignal) {
  const rates = new Map<number, number>()
  const ledger = shareMeasurement(ledgers.measure)
  const alone = shareMeasurement(order.appendLatency)
  const follow = shareMeasurement(order.follow)
  const single = shareMeasurement(() => order.append(1))
  return {
    measure: {
      ...shareMeasurement(bare.measure).figures({
        bareCpu: ({ cpu }) => cpu,
        bareDatabaseCpu: ({ databaseCpu }) => databaseCpu,
      }),
      ...ledger.figures({
        coldAlone: (one) => one.coldAlone,
        warmAlone: (one) => one.warmAlone,
        loadCpu: ({ load }) => load.cpu,
        loadDatabaseCpu: ({ load }) => load.databaseCpu,
        factCpu: ({ fact }) => fact.cpu,
        factDatabaseCpu: ({ fact }) => fact.databaseCpu,
      }),
      ...shareMeasurement(() => measureCompanyList(signal)).figures({
        listMs: ({ ms }) => ms,
        listBytes: ({ bytes }) => bytes,
      }),
      ledgerBytes: () => bytesOfLedger(ground, ledgers.streams, signal),
      ...alone.figures({ appendAlone: (micros) => micros }),
      ...measureAtSizes(APPEND_LINE, async (processes) => {
        const { perSecond } = await order.append(processes)
        rates.set(processes, perSecond)
        return perSecond
      }),
      ...single.figures({ appendDatabaseCpu: ({ databaseCpu }) => databaseCpu }),
      ...follow.figures({
        followCpu: ({ cpu }) => cpu,
        followDatabaseCpu: ({ databaseCpu }) => databaseCpu,
      }),
    },
    costs: (): Omit<Costs, "textCpu" | "textDatabaseCpu" | "textEvents"> => ({
      loadCpu: ledger.last().load.cpu,
      loadDatabaseCpu: ledger.last().load.databaseCpu,
      factCpu: ledger.last().fact.cpu,
      factDatabaseCpu: ledger.last().fact.databaseCpu,
      followCpu: follow.last().cpu,
      followDatabaseCpu: follow.last().databaseCpu,
      appendAlone: alone.last(),
      appendEach: MICROS / Math.max(...rates.values()),
    }),
  }
}
