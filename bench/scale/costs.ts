/** The costs that everything else is reckoned from, measured on whole installations and on a store alone. */
import type { Opened, Setting } from "../benchmark.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { Ground } from "../ground/ground.ts"
import type { House } from "../ground/house.ts"
import { measuredAt } from "../growth/points.ts"
import type { Callers } from "../http/callers.ts"
import type { BareCharges } from "./bare-charges.ts"
import { openBareCharges } from "./bare-charges.ts"
import type { Costs } from "./capacity.ts"
import { APPENDS } from "./figures.ts"
import type { Ledgers } from "./ledgers.ts"
import { openLedgers } from "./ledgers.ts"
import { bytesOfLedger, listOfCompanies } from "./memory-of-ledgers.ts"
import type { Months } from "./months.ts"
import { openMonths } from "./months.ts"
import type { Once } from "./once.ts"
import { once } from "./once.ts"
import type { Order } from "./order.ts"
import { openOrder } from "./order.ts"
import type { Left, Spent } from "./spent.ts"
import type { Installed } from "./texting.ts"
import { openInstalled } from "./texting.ts"

/** What is measured on. */
export interface Places {
  readonly house: House
  readonly callers: Callers
  /** An installation whose clock is the test's. */
  readonly monthly: House
  /** A store that nothing follows. */
  readonly ground: Ground
}

/** Costs, measured anew in every round. */
export interface MeasuredCosts extends Opened {
  /** Of this round, once all were measured. */
  readonly costs: () => Costs
}

const MICROS = 1_000_000

/** Opens what they are measured with. */
export async function openCosts(
  { house, callers, monthly, ground }: Places,
  { signal, report }: Pick<Setting, "signal" | "report">,
): Promise<MeasuredCosts> {
  report("scale: opening companies that text, spend or do nothing")
  const installed = await openInstalled(house, callers, signal)
  const months = await openMonths(monthly, signal)
  report("scale: writing ledgers that are loaded")
  const ledgers = await openLedgers(ground, signal)
  const bare = await openBareCharges(ground, signal)
  const order = openOrder(ground, signal)
  const text = once(installed.text)
  const ofStore = measuringStore({ ground, ledgers, bare, order }, signal)
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      ...measuringInstalled(text, installed, months),
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
      house.check()
      monthly.check()
    },
    close: order.close,
  }
}

function measuringInstalled(
  text: Once<Spent & Left>,
  installed: Installed,
  months: Months,
): Opened["measure"] {
  const charge = once(installed.charge)
  const company = once(installed.company)
  const rest = once(installed.rest)
  const month = once(months.end)
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

interface OnStore {
  readonly ground: Ground
  readonly ledgers: Ledgers
  readonly bare: BareCharges
  readonly order: Order
}

function measuringStore({ ground, ledgers, bare, order }: OnStore, signal: AbortSignal) {
  const rates = new Map<number, number>()
  const ledger = once(ledgers.measure)
  const alone = once(order.alone)
  const follow = once(order.follow)
  const single = once(() => order.append(1))
  return {
    measure: {
      ...once(bare.measure).figures({
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
      ...once(() => listOfCompanies(signal)).figures({
        listMs: ({ ms }) => ms,
        listBytes: ({ bytes }) => bytes,
      }),
      ledgerBytes: () => bytesOfLedger(ground, ledgers.streams, signal),
      ...alone.figures({ appendAlone: (micros) => micros }),
      ...measuredAt(APPENDS, async (processes) => {
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
