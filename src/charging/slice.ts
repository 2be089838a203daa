/** The ledger's own: what it shows, the nights and months, reminders and notices. */
import { callOperations, chargeDayOperations } from "./operate/charge-days.ts"
import { chargeOperations } from "./operate/charges.ts"
import { moneyOperations } from "./operate/money.ts"
import { destinationPriceOperations, priceOperations } from "./operate/prices.ts"
import { spendingOperations } from "./operate/spending.ts"
import { LEDGER, PRICES, REFUSALS } from "../../domain/charging/aggregates.ts"
import { accounts } from "../../projections/charging/accounts.ts"
import { apiCalls } from "../../projections/charging/api-calls.ts"
import { chargeDays } from "../../projections/charging/charge-days.ts"
import { charges } from "../../projections/charging/charges.ts"
import { limits } from "../../projections/charging/limits.ts"
import { months } from "../../projections/charging/months.ts"
import { refusals } from "../../projections/charging/refusals.ts"
import { reminders } from "../../projections/charging/reminders.ts"
import type { Slice } from "../frame/slice.ts"
import { chargeCalls, closeMonth, sendFundsNotice, sendReminder } from "./reactions.ts"

/** What the ledger shows and does by itself. */
export const charging: Slice = {
  name: "charging",
  streams: { ofCompanies: [LEDGER, REFUSALS], ofInstallation: [PRICES] },
  readModels: [accounts, apiCalls, chargeDays, charges, limits, months, refusals, reminders],
  reactions: [chargeCalls, closeMonth, sendReminder, sendFundsNotice],
  operations: [
    ...moneyOperations,
    ...spendingOperations,
    ...chargeOperations,
    ...chargeDayOperations,
    ...callOperations,
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
