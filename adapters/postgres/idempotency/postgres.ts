import type { Pool } from "pg"
import { inTransaction } from "../projector/tables.ts"
import type { Processes } from "../leases/port.ts"
import type { IdempotencyClaim, IdempotencyClaimRequest, IdempotencyStore } from "./port.ts"
import { ClaimLost } from "./port.ts"
import { batchCalls } from "../../machine/promises.ts"

interface Row {
  readonly fingerprint: string
  readonly state: "running" | "done" | "free"
  readonly process_id: string
  readonly attempt: number
  readonly started: string
  readonly answer: string | null
}

const NO_PROCESS = ""

/** The row of a request that this process is executing. */
const IS_HELD = "key_id = $1 and idempotency_key = $2 and state = 'running' and process_id = $3"

/**
 * Opens claims in the table `ledger.idempotent_requests`, which all processes of the installation
 * share. Its calls throw ClaimLost for a claim that another process holds.
 *
 * Claims in progress are also kept in memory: a row of this process that is not in memory was left
 * by a database outage, and may be taken over like a dead process's.
 */
export function openPostgresIdempotency(pool: Pool, processes: Processes): IdempotencyStore {
  const inProgress = new Set<string>()
  const heldBy = (request: IdempotencyClaimRequest) => [
    request.keyId,
    request.idempotencyKey,
    processes.ownId,
  ]
  const insertClaim = openInsertClaim(pool, processes.ownId)
  const finish = openFinishClaim(pool, processes.ownId)
  const endClaim = async (
    request: IdempotencyClaimRequest,
    write: () => Promise<unknown>,
  ): Promise<void> => {
    try {
      await write()
    } finally {
      inProgress.delete(claimKey(request))
    }
  }
  return {
    claim: async (request) => {
      const key = claimKey(request)
      if (inProgress.has(key)) return readRunningClaim(pool, request)
      inProgress.add(key)
      const claim = await claimUntilSettled({ pool, processes, insertClaim }, request).catch(
        (error: unknown) => {
          inProgress.delete(key)
          throw error
        },
      )
      if (claim.state !== "claimed") inProgress.delete(key)
      return claim
    },
    finish: (request, answer) => endClaim(request, () => finish({ request, answer })),
    release: (request) =>
      endClaim(request, () =>
        nextAttempt(pool, heldBy(request), "state = 'free', attempt = attempt + 1"),
      ),
    abandon: (request) =>
      endClaim(request, () =>
        pool.query(`update ledger.idempotent_requests set process_id = $4 where ${IS_HELD}`, [
          ...heldBy(request),
          NO_PROCESS,
        ]),
      ),
    nextAttempt: async (request) => {
      const attempt = await nextAttempt(pool, heldBy(request), "attempt = attempt + 1")
      if (attempt === null) throw new ClaimLost("This process does not hold the idempotency claim")
      return attempt
    },
    forgetBefore: async (at) => {
      const { rowCount } = await pool.query(
        `delete from ledger.idempotent_requests
         where claimed_at < to_timestamp($1::float8 / 1000) and not (is_permanent and state <> 'free')`,
        [at],
      )
      return rowCount ?? 0
    },
  }
}

/**
 * Moves to the next attempt, from which other ids derive; null if the claim is not held.
 *
 * Uses a transaction, because a statement whose caller timed out may still be in transit and would interfere after
 * a takeover: without its commit the change is lost, and until then it blocks other processes.
 */
async function nextAttempt(
  pool: Pool,
  held: readonly string[],
  update: string,
): Promise<number | null> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query<Pick<Row, "attempt">>(
      `update ledger.idempotent_requests set ${update} where ${IS_HELD} returning attempt`,
      [...held],
    )
    return rows[0]?.attempt ?? null
  })
}

async function readRunningClaim(
  pool: Pool,
  request: IdempotencyClaimRequest,
): Promise<IdempotencyClaim> {
  const row = await findRow(pool, request)
  const attempt = row?.attempt ?? 0
  if (row === null || row.state === "free") return { state: "running", attempt }
  if (row.fingerprint !== request.fingerprint) return { state: "conflict" }
  if (row.state === "done") return { state: "done", answer: row.answer ?? "" }
  return { state: "running", attempt }
}

async function findRow(
  pool: Pool,
  { keyId, idempotencyKey }: Pick<IdempotencyClaimRequest, "keyId" | "idempotencyKey">,
): Promise<Row | null> {
  const { rows } = await pool.query<Row>(
    `select fingerprint, state, process_id, attempt, started, answer from ledger.idempotent_requests
     where key_id = $1 and idempotency_key = $2`,
    [keyId, idempotencyKey],
  )
  return rows[0] ?? null
}

interface ClaimPorts {
  readonly pool: Pool
  readonly processes: Processes
  readonly insertClaim: (request: IdempotencyClaimRequest) => Promise<boolean>
}

async function claimUntilSettled(
  ports: ClaimPorts,
  request: IdempotencyClaimRequest,
): Promise<IdempotencyClaim> {
  for (;;) {
    const claim = await tryClaim(ports, request)
    if (claim !== null) return claim
  }
}

/** Tries once; null if another process changed the row meanwhile. */
async function tryClaim(
  { pool, processes, insertClaim }: ClaimPorts,
  request: IdempotencyClaimRequest,
): Promise<IdempotencyClaim | null> {
  const { keyId, idempotencyKey, fingerprint, requestId: firstRequestId, at } = request
  if (await insertClaim(request))
    return { state: "claimed", attempt: 0, firstRequestId, isTakenOver: false }
  const row = await findRow(pool, request)
  if (row === null) return null
  if (row.state !== "free" && row.fingerprint !== request.fingerprint) return { state: "conflict" }
  if (row.state === "done") return { state: "done", answer: row.answer ?? "" }
  const isAbandoned = row.process_id === NO_PROCESS || row.process_id === processes.ownId
  const holderLives = !isAbandoned && (await processes.isAlive(row.process_id))
  if (row.state === "running" && holderLives) return { state: "running", attempt: row.attempt }
  const takeover = await pool.query(
    `update ledger.idempotent_requests
     set state = 'running', process_id = $3, fingerprint = $4,
         claimed_at = to_timestamp($5::float8 / 1000)
     where key_id = $1 and idempotency_key = $2
       and state = $6 and process_id = $7 and attempt = $8`,
    [
      keyId,
      idempotencyKey,
      processes.ownId,
      fingerprint,
      at,
      row.state,
      row.process_id,
      row.attempt,
    ],
  )
  if (takeover.rowCount !== 1) return null
  const isTakenOver = row.state === "running"
  return { state: "claimed", attempt: row.attempt, firstRequestId: row.started, isTakenOver }
}

const MAX_BATCH = 100

const INSERT = `
  insert into ledger.idempotent_requests (company_id, key_id, idempotency_key, fingerprint, state, process_id,
                             attempt, started, claimed_at, is_permanent)
  select company_id, key_id, idempotency_key, fingerprint, 'running', $8, 0, started,
         to_timestamp(at / 1000), is_permanent
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::boolean[])
    as request (company_id, key_id, idempotency_key, fingerprint, started, at, is_permanent)
  -- Lock keys in the same order in all processes, so that they cannot deadlock.
  order by key_id, idempotency_key
  on conflict do nothing
  returning key_id, idempotency_key`

const FINISH = `
  update ledger.idempotent_requests c
  set state = 'done', answer = finished.answer
  from unnest($1::text[], $2::text[], $3::text[]) as finished (key_id, idempotency_key, answer)
  where c.key_id = finished.key_id and c.idempotency_key = finished.idempotency_key
    and c.state = 'running' and c.process_id = $4`

function claimKey({
  keyId,
  idempotencyKey,
}: Pick<IdempotencyClaimRequest, "keyId" | "idempotencyKey">): string {
  return JSON.stringify([keyId, idempotencyKey])
}

/**
 * Inserts claims of distinct requests: true if it was inserted, false if a claim existed. Throws
 * the driver's errors.
 */
function openInsertClaim(
  pool: Pool,
  processId: string,
): (request: IdempotencyClaimRequest) => Promise<boolean> {
  return batchCalls(MAX_BATCH, async (requests: readonly IdempotencyClaimRequest[]) => {
    const values = [
      requests.map(({ companyId }) => companyId),
      requests.map(({ keyId }) => keyId),
      requests.map(({ idempotencyKey }) => idempotencyKey),
      requests.map(({ fingerprint }) => fingerprint),
      requests.map(({ requestId }) => requestId),
      requests.map(({ at }) => at),
      requests.map(({ isPermanent = false }) => isPermanent),
      processId,
    ]
    const { rows } = await pool.query<{ key_id: string; idempotency_key: string }>({
      name: "make-claims",
      text: INSERT,
      values,
    })
    const inserted = new Set(
      rows.map(({ key_id: keyId, idempotency_key: idempotencyKey }) =>
        claimKey({ keyId, idempotencyKey }),
      ),
    )
    return requests.map((request) => inserted.has(claimKey(request)))
  })
}

interface FinishedClaim {
  readonly request: IdempotencyClaimRequest
  readonly answer: string
}

/** Stores answers of claims that the process holds; ignores others. Throws the driver's errors. */
function openFinishClaim(
  pool: Pool,
  processId: string,
): (finished: FinishedClaim) => Promise<void> {
  return batchCalls(MAX_BATCH, async (all: readonly FinishedClaim[]) => {
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

interface MemoryClaim {
  readonly fingerprint: string
  state: "running" | "abandoned" | "done" | "free"
  attempt: number
  answer: string | null
  readonly firstRequestId: string
  readonly at: number
  readonly isPermanent: boolean
}

/**
 * Opens claims in the memory of this process, for tests and the simulation. Its calls throw
 * ClaimLost for a claim that another process holds.
 */
export function openMemoryIdempotency(): IdempotencyStore {
  const claims = new Map<string, MemoryClaim>()
  const memoryKeyOf = (request: Pick<IdempotencyClaimRequest, "keyId" | "idempotencyKey">) =>
    JSON.stringify([request.keyId, request.idempotencyKey])
  const held = (request: IdempotencyClaimRequest): MemoryClaim | null => {
    const found = claims.get(memoryKeyOf(request))
    return found?.state === "running" ? found : null
  }
  return {
    claim: async (request): Promise<IdempotencyClaim> => {
      const found = claims.get(memoryKeyOf(request))
      if (found === undefined || found.state === "free") {
        const attempt = found === undefined ? 0 : found.attempt
        const { fingerprint, at, isPermanent = false } = request
        const firstRequestId = found?.firstRequestId ?? request.requestId
        const state = "running" as const
        claims.set(memoryKeyOf(request), {
          fingerprint,
          state,
          attempt,
          answer: null,
          firstRequestId,
          at,
          isPermanent,
        })
        return { state: "claimed", attempt, firstRequestId, isTakenOver: false }
      }
      if (found.fingerprint !== request.fingerprint) return { state: "conflict" }
      if (found.state === "done") return { state: "done", answer: found.answer ?? "" }
      if (found.state === "running") return { state: "running", attempt: found.attempt }
      found.state = "running"
      const { attempt, firstRequestId } = found
      return { state: "claimed", attempt, firstRequestId, isTakenOver: true }
    },
    finish: async (request, answer) => {
      const found = held(request)
      if (found !== null) Object.assign(found, { state: "done", answer })
    },
    release: async (request) => {
      const found = held(request)
      if (found !== null) Object.assign(found, { state: "free", attempt: found.attempt + 1 })
    },
    abandon: async (request) => {
      const found = held(request)
      if (found !== null) found.state = "abandoned"
    },
    nextAttempt: async (request) => {
      const found = held(request)
      if (found === null) throw new ClaimLost("This process does not hold the idempotency claim")
      found.attempt += 1
      return found.attempt
    },
    forgetBefore: async (at) => {
      const isKept = ({ isPermanent, state }: MemoryClaim) => isPermanent && state !== "free"
      const old = [...claims].filter(([, claim]) => claim.at < at && !isKept(claim))
      for (const [key] of old) claims.delete(key)
      return old.length
    },
  }
}
