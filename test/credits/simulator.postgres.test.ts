import { expect, it } from "vitest"
import { openSimulatedCards } from "../../adapters/providers/cards/simulator.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import {
  openSimulatorStore,
  openPostgresSimulators,
} from "../../adapters/providers/simulators/postgres-simulators.ts"
import { testDatabase } from "../support/test-database.ts"
import type { CardsUnderTest } from "./cards-contract.ts"
import { aPayment, cardsContract } from "./cards-contract.ts"

const COMPANY = "co_aaaaaa"
/** The ledger's time, which differs from the machine's. */
const NOW = Date.UTC(2031, 4, 6, 7, 8, 9, 123)

async function open(): Promise<
  CardsUnderTest & {
    readonly cards: ReturnType<typeof openSimulatedCards>
    /** The stored time of each payment. */
    readonly takenAt: () => Promise<readonly number[]>
  }
> {
  const database = await testDatabase()
  const pool = openPool(database.url, 4, () => undefined)
  const simulators = openPostgresSimulators(pool)
  const simulatorMemory = openSimulatorStore({ pool, clock: { now: () => NOW } })
  const cards = openSimulatedCards({ simulatorMemory, simulators, pacer: machinePacer })
  return {
    cards,
    takenAt: async () => {
      const { rows } = await pool.query<{ at: Date }>(
        "select at from ledger.simulated_records where kind = 'payment'",
      )
      return rows.map((row) => row.at.getTime())
    },
    setNext: async (outcome) => {
      const isCall =
        outcome === "silent" || outcome === "unavailable" || outcome === "misconfigured"
      await simulators.set({ name: "cards", outcome: isCall ? outcome : "ok", times: null })
      await cards.setOutcome(COMPANY, isCall ? "paid" : outcome)
    },
    paymentCount: async () => {
      const paid = `select 1 from ledger.simulated_records
        where kind = 'payment' and content @> '{"status": "paid"}'`
      return (await pool.query(paid)).rows.length
    },
    holdCount: async () => {
      const held = `select 1 from ledger.simulated_records
        where kind = 'hold' and content @> '{"status": "paid"}'`
      return (await pool.query(held)).rows.length
    },
    companyId: COMPANY,
    refusals: ["declined", "payment_failed", "needs_owner"],
    close: async () => {
      await pool.end()
      await database.drop()
    },
  }
}

cardsContract("the simulated processor", open)

it("applies the outcome that is set for each company's card", async () => {
  const { cards, close } = await open()
  try {
    await cards.setOutcome("co_bbbbbb", "declined")
    expect((await cards.pay(aPayment("co_bbbbbb"))).answer).toBe("declined")
    expect((await cards.pay(aPayment(COMPANY))).answer).toBe("paid")
    const sharedPaymentToken = "spt_of_a_wallet"
    const byWallet = aPayment("co_bbbbbb", { sharedPaymentToken })
    expect((await cards.pay(byWallet)).answer).toBe("paid")
    await cards.setOutcome("co_bbbbbb", null)
    expect((await cards.pay(aPayment("co_bbbbbb"))).answer).toBe("paid")
  } finally {
    await close()
  }
})

it("stores the time of a payment by the ledger's clock", async () => {
  const { cards, takenAt, close } = await open()
  try {
    await cards.pay(aPayment(COMPANY))
    await cards.cancelPayment(aPayment(COMPANY))
    expect(await takenAt()).toEqual([NOW, NOW])
  } finally {
    await close()
  }
})

it.for(["processing", "unconfirmed"] as const)(
  "settles a payment that is %s by the card's outcome at the next status check",
  async (outcome) => {
    const { cards, close } = await open()
    try {
      await cards.setOutcome(COMPANY, outcome)
      const [one, other] = [aPayment(COMPANY), aPayment(COMPANY)]
      expect((await cards.pay(one)).answer).toBe(outcome)
      expect((await cards.pay(other)).answer).toBe(outcome)
      expect((await cards.checkPaymentStatus(one)).answer).toBe("paid")
      await cards.setOutcome(COMPANY, "declined")
      expect(await cards.checkPaymentStatus(other)).toMatchObject({ answer: "declined" })
      expect((await cards.checkPaymentStatus(one)).answer).toBe("paid")
    } finally {
      await close()
    }
  },
)
