/**
 * The built-in test carrier: it takes every text, remembers it in PostgreSQL and sends nothing out
 * of this machine. What it does next can be set (`stand-in set carrier …`).
 */
import type { Pool } from "pg"
import type { Pacer } from "../../clock/port.ts"
import { together } from "../../postgres/together.ts"
import type { StandIns } from "../simulators/port.ts"
import type { Carrier, CarrierAnswer, CarrierKnowledge, OutgoingText } from "./port.ts"
import { builtInCarrierId } from "./port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"

const SLOW_MS = 2_000
/** So many texts are taken together. */
const MOST_AT_ONCE = 500

interface Row {
  readonly status: "accepted" | "rejected" | "delivered" | "undelivered"
  readonly error_code: string | null
}

/** A text that is being taken, and how. */
interface Taking extends Pick<OutgoingText, "textId" | "companyId"> {
  readonly status: Row["status"]
  readonly errorCode: string | null
}

/** Told, before the answer, when the built-in carrier cannot deliver a text that it takes. */
export type OnUndelivered = (text: OutgoingText, errorCode: string) => Promise<void> | void

/** The built-in carrier. Its calls throw ProviderUnavailable and ProviderSilent, as they are set to. */
export function openBuiltInCarrier(
  pool: Pool,
  standIns: StandIns,
  pacer: Pacer,
  onUndelivered: OnUndelivered,
): Carrier {
  const insert = together<Taking, Row | undefined>(MOST_AT_ONCE, (texts) => insertAll(pool, texts))
  const take = async (text: OutgoingText, status: Row["status"], errorCode: string | null) => {
    const { textId, companyId } = text
    const taking = { textId, companyId, status, errorCode }
    // Two that hand over the same text at once see one row: the one that was there first.
    return (await insert(taking)) ?? ((await insert(taking)) as Row)
  }
  return {
    send: async (text): Promise<CarrierAnswer> => {
      const outcome = await standIns.next("carrier")
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      if (outcome === "slow") await pacer.pause(SLOW_MS)
      if (outcome === "reject") return answerOf(text.textId, await take(text, "rejected", "30007"))
      const row = await take(text, "accepted", null)
      if (outcome === "silent") throw new ProviderSilent("the carrier did not answer")
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

const INSERT = `
  with taken as (
    insert into ledger.carrier_texts
    select *, now() from unnest($1::text[], $2::text[], $3::text[], $4::text[])
    on conflict do nothing returning text_id, status, error_code)
  select * from taken
  union all
  select text_id, status, error_code from ledger.carrier_texts where text_id = any($1::text[])`

/** Takes many texts at once; undefined for one that somebody else is just taking. */
async function insertAll(
  pool: Pool,
  texts: readonly Taking[],
): Promise<readonly (Row | undefined)[]> {
  // In one order everywhere, so that two who take the same texts do not wait for each other.
  const sorted = texts.toSorted((a, b) => (a.textId < b.textId ? -1 : 1))
  const columns = [
    sorted.map(({ textId }) => textId),
    sorted.map(({ companyId }) => companyId),
    sorted.map(({ status }) => status),
    sorted.map(({ errorCode }) => errorCode),
  ]
  const query = { name: "carrier-take", text: INSERT, values: columns }
  const { rows } = await pool.query<Row & { readonly text_id: string }>(query)
  const taken = new Map(rows.map((row) => [row.text_id, row]))
  return texts.map(({ textId }) => taken.get(textId))
}

function answerOf(textId: string, row: Row): CarrierAnswer {
  if (row.status === "rejected") {
    return { answer: "rejected", errorCode: row.error_code ?? "unknown" }
  }
  return { answer: "accepted", carrierId: builtInCarrierId(textId) }
}
