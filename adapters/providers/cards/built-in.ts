/**
 * The built-in test processor: it takes no money from anybody, and remembers in PostgreSQL what it
 * said. What it does next with a company's card is set by `card set`, with all cards and wallets by
 * `stand-in set cards …`.
 */
import type { Pool } from "pg"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Clock, Pacer } from "../../clock/port.ts"
import type { StandIns } from "../simulators/port.ts"
import type {
  CardOutcome,
  CardPayment,
  Cards,
  OrderedPayment,
  PaymentAnswer,
  TestCards,
} from "./port.ts"
import { CARD_OUTCOMES } from "./port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"

const SLOW_MS = 2_000

interface Row {
  readonly status: CardOutcome
}

/** What the built-in processor works with. */
export interface BuiltInCardsPorts {
  readonly pool: Pool
  readonly standIns: StandIns
  readonly pacer: Pacer
  readonly clock: Clock
}

/** The built-in processor. Its calls throw ProviderUnavailable and ProviderSilent, as they are set to. */
export function openBuiltInCards(ports: BuiltInCardsPorts): Cards & TestCards {
  const { pool, standIns, pacer } = ports
  const outcomeOf = async (companyId: CompanyId): Promise<CardOutcome> => {
    const { rows } = await pool.query<{ outcome: CardOutcome }>(
      "select outcome from ledger.test_cards where company_id = $1",
      [companyId],
    )
    return rows[0]?.outcome ?? "paid"
  }
  const ask = async ({ name, companyId }: CardPayment) => {
    const row = await find(pool, name)
    if (row === null) return { answer: "unknown" } as const
    if (row.status !== "processing" && row.status !== "unconfirmed") return answerOf(name, row)
    // What was under way comes to its end when it is asked about: paid, unless the card fails by now.
    const wanted = row.source === "card" ? await outcomeOf(companyId) : "paid"
    const status = wanted === "declined" || wanted === "payment_failed" ? wanted : "paid"
    await pool.query(
      `update ledger.card_payments set status = $2
       where name = $1 and status in ('processing', 'unconfirmed')`,
      [name, status],
    )
    return answerOf(name, (await find(pool, name)) ?? row)
  }
  return {
    pay: async (payment) => {
      const outcome = await standIns.next("cards")
      if (outcome === "unavailable") throw new ProviderUnavailable("the processor answered 503")
      if (outcome === "slow") await pacer.pause(SLOW_MS)
      const isFromCard = payment.sharedPaymentToken === null
      const own = isFromCard ? await outcomeOf(payment.companyId) : "paid"
      const row = await take(ports, payment, isFromCard, cardOutcome(outcome) ?? own)
      if (outcome === "silent") throw new ProviderSilent("the processor did not answer")
      return answerOf(payment.name, row)
    },
    ask,
    withdraw: async (payment) => {
      await take(ports, payment, true, "payment_failed")
      const known = await ask(payment)
      if (known.answer === "unknown") throw new ProviderSilent("the payment is not there any more")
      return known
    },
    set: async (companyId, outcome) => {
      if (outcome === null) {
        await pool.query("delete from ledger.test_cards where company_id = $1", [companyId])
        return
      }
      await pool.query(
        `insert into ledger.test_cards values ($1, $2)
         on conflict (company_id) do update set outcome = excluded.outcome`,
        [companyId, outcome],
      )
    },
  }
}

/** An outcome that is one of a payment's; null for those of every stand-in. */
function cardOutcome(outcome: string): CardOutcome | null {
  return CARD_OUTCOMES.find((one) => one === outcome) ?? null
}

/** Of two that ask for the same payment at once both see what the first one got. */
async function take(
  { pool, clock }: BuiltInCardsPorts,
  { name, companyId, amountMicros }: CardPayment | OrderedPayment,
  isFromCard: boolean,
  status: CardOutcome,
): Promise<Row> {
  await pool.query(
    `insert into ledger.card_payments (name, company_id, amount_micros, source, status, taken_at)
     values ($1, $2, $3, $4, $5, to_timestamp($6::float8 / 1000)) on conflict do nothing`,
    [name, companyId, amountMicros, isFromCard ? "card" : "wallet", status, clock.now()],
  )
  return (await find(pool, name)) ?? { status }
}

async function find(pool: Pool, name: string): Promise<(Row & { source: string }) | null> {
  const { rows } = await pool.query<Row & { source: string }>(
    "select status, source from ledger.card_payments where name = $1",
    [name],
  )
  return rows[0] ?? null
}

function answerOf(name: string, { status }: Row): PaymentAnswer {
  if (status === "paid" || status === "processing" || status === "unconfirmed") {
    return { answer: status, paymentId: `builtin-${name}` }
  }
  return { answer: status }
}
