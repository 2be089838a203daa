/**
 * The built-in test carrier: it takes every text, remembers it in PostgreSQL and sends nothing out
 * of this machine. What it does next can be set (`stand-in set carrier …`).
 */
import type { Pool } from "pg"
import type { Pacer } from "../clock/port.ts"
import type { StandIns } from "../stand-ins/port.ts"
import type { Carrier, CarrierAnswer, CarrierKnowledge, OutgoingText } from "./port.ts"
import { CarrierSilent, CarrierUnavailable, builtInCarrierId } from "./port.ts"

const SLOW_MS = 2_000

interface Row {
  readonly status: "accepted" | "rejected" | "delivered" | "undelivered"
  readonly error_code: string | null
}

/** Told, before the answer, when the built-in carrier cannot deliver a text that it takes. */
export type OnUndelivered = (text: OutgoingText, errorCode: string) => Promise<void> | void

/** The built-in carrier. Its calls throw CarrierUnavailable and CarrierSilent, as they are set to. */
export function openBuiltInCarrier(
  pool: Pool,
  standIns: StandIns,
  pacer: Pacer,
  onUndelivered: OnUndelivered,
): Carrier {
  const take = async (text: OutgoingText, status: Row["status"], errorCode: string | null) => {
    // Two that hand over the same text at once see one row: the one that was there first.
    const insert = () =>
      pool.query<Row>(
        `with taken as (
         insert into ledger.carrier_texts values ($1, $2, $3, $4, now())
         on conflict do nothing returning status, error_code)
       select * from taken
       union all
       select status, error_code from ledger.carrier_texts where text_id = $1
       limit 1`,
        [text.textId, text.companyId, status, errorCode],
      )
    const [row] = (await insert()).rows
    return row ?? ((await insert()).rows[0] as Row)
  }
  return {
    send: async (text): Promise<CarrierAnswer> => {
      const outcome = await standIns.next("carrier")
      if (outcome === "unavailable") throw new CarrierUnavailable("the carrier answered 503")
      if (outcome === "slow") await pacer.pause(SLOW_MS)
      if (outcome === "reject") return answerOf(text.textId, await take(text, "rejected", "30007"))
      const row = await take(text, "accepted", null)
      if (outcome === "silent") throw new CarrierSilent("the carrier did not answer")
      if (outcome === "undelivered") await onUndelivered(text, "30003")
      return answerOf(text.textId, row)
    },
    ask: async (textId): Promise<CarrierKnowledge> => {
      const { rows } = await pool.query<Row>(
        "select status, error_code from ledger.carrier_texts where text_id = $1",
        [textId],
      )
      const row = rows[0]
      if (row === undefined) return { answer: "unknown" }
      const carrierId = builtInCarrierId(textId)
      if (row.status === "delivered") return { answer: "delivered", carrierId }
      if (row.status === "undelivered") {
        return { answer: "undelivered", carrierId, errorCode: row.error_code ?? "unknown" }
      }
      return answerOf(textId, row)
    },
  }
}

function answerOf(textId: string, row: Row): CarrierAnswer {
  if (row.status === "rejected") {
    return { answer: "rejected", errorCode: row.error_code ?? "unknown" }
  }
  return { answer: "accepted", carrierId: builtInCarrierId(textId) }
}
