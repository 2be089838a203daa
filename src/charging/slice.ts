/** The charging slice. */
import { apiCallOperations, chargeDayOperations } from "./operate/charge-days.ts"
import { chargeOperations } from "./operate/charges.ts"
import { limitAndFundsOperations } from "./operate/limits.ts"
import { destinationPriceOperations, priceOperations } from "./operate/prices.ts"
import { chargeChangeOperations } from "./operate/charge-changes.ts"
import {
  LEDGER_AGGREGATE,
  PRICES_STREAM,
  REFUSALS_AGGREGATE,
} from "../../domain/charging/aggregates.ts"
import { accountsReadModel } from "../../projections/charging/accounts.ts"
import { apiCallsReadModel } from "../../projections/charging/api-calls.ts"
import { chargeDaysReadModel } from "../../projections/charging/charge-days.ts"
import { chargesReadModel } from "../../projections/charging/charges.ts"
import { limitsReadModel } from "../../projections/charging/limits.ts"
import { monthsReadModel } from "../../projections/charging/months.ts"
import { refusalsReadModel } from "../../projections/charging/refusals.ts"
import { remindersReadModel } from "../../projections/charging/reminders.ts"
import type { Slice } from "../frame/slice.ts"
import { chargeApiCalls, closeMonth, sendLowFundsAlert, sendReminder } from "./reactions.ts"

/** The ledger's read models, reactions and operations. */
export const chargingSlice: Slice = {
  name: "charging",
  streams: { perCompany: [LEDGER_AGGREGATE, REFUSALS_AGGREGATE], perInstallation: [PRICES_STREAM] },
  readModels: [
    accountsReadModel,
    apiCallsReadModel,
    chargeDaysReadModel,
    chargesReadModel,
    limitsReadModel,
    monthsReadModel,
    refusalsReadModel,
    remindersReadModel,
  ],
  reactions: [chargeApiCalls, closeMonth, sendReminder, sendLowFundsAlert],
  commands: [
    ...limitAndFundsOperations,
    ...chargeChangeOperations,
    ...chargeOperations,
    ...chargeDayOperations,
    ...apiCallOperations,
    ...priceOperations,
    ...destinationPriceOperations,
  ],
  topics: {
    limit: "spending limits",
    funds: "funds",
    calls: "API calls",
    price: "the price book",
  },
}
