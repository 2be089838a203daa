/** What every call with an `Idempotency-Key` writes, for many of them at a time: one commit serves all. */
import type { Pool } from "pg"
import { together } from "../../machine/promises.ts"
import type { ClaimRequest } from "./port.ts"

const MOST_AT_ONCE = 100

const MAKE = `
  insert into ledger.idempotent_requests (company_id, key_id, idempotency_key, fingerprint, state, process_id,
                             attempt, started, claimed_at, is_permanent)
  select company_id, key_id, idempotency_key, fingerprint, 'running', $8, 0, started,
         to_timestamp(at / 1000), is_permanent
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::boolean[])
    as asked (company_id, key_id, idempotency_key, fingerprint, started, at, is_permanent)
  -- Two processes that are asked for the same keys take them in the same order.
  order by key_id, idempotency_key
  on conflict do nothing
  returning key_id, idempotency_key`

const FINISH = `
  update ledger.idempotent_requests c
  set state = 'done', answer = told.answer
  from unnest($1::text[], $2::text[], $3::text[]) as told (key_id, idempotency_key, answer)
  where c.key_id = told.key_id and c.idempotency_key = told.idempotency_key
    and c.state = 'running' and c.process_id = $4`

/** The place of a request among all: its key and its name. */
export function placeOf({
  keyId,
  idempotencyKey,
}: Pick<ClaimRequest, "keyId" | "idempotencyKey">): string {
  return JSON.stringify([keyId, idempotencyKey])
}

/**
 * Makes claims for a process, of which no two at a time are of one request: true where it was made,
 * false where a claim was there before. It throws the driver's errors.
 */
export function openMaking(
  pool: Pool,
  processId: string,
): (request: ClaimRequest) => Promise<boolean> {
  return together(MOST_AT_ONCE, async (requests: readonly ClaimRequest[]) => {
    const values = [
      requests.map(({ companyId }) => companyId),
      requests.map(({ keyId }) => keyId),
      requests.map(({ idempotencyKey }) => idempotencyKey),
      requests.map(({ fingerprint }) => fingerprint),
      requests.map(({ requestId }) => requestId),
      requests.map(({ at }) => at),
      requests.map(({ lasting = false }) => lasting),
      processId,
    ]
    const { rows } = await pool.query<{ key_id: string; idempotency_key: string }>({
      name: "make-claims",
      text: MAKE,
      values,
    })
    const made = new Set(
      rows.map(({ key_id: keyId, idempotency_key: idempotencyKey }) =>
        placeOf({ keyId, idempotencyKey }),
      ),
    )
    return requests.map((request) => made.has(placeOf(request)))
  })
}

/** A request and what it answered. */
interface Finished {
  readonly request: ClaimRequest
  readonly answer: string
}

/** Keeps answers of what a process holds; of another's it changes nothing. It throws the driver's errors. */
export function openFinishing(
  pool: Pool,
  processId: string,
): (finished: Finished) => Promise<void> {
  return together(MOST_AT_ONCE, async (all: readonly Finished[]) => {
    const values = [
      all.map(({ request }) => request.keyId),
      all.map(({ request }) => request.idempotencyKey),
      all.map(({ answer }) => answer),
      processId,
    ]
    await pool.query({ name: "finish-claims", text: FINISH, values })
    return all.map(() => undefined)
  })
}
