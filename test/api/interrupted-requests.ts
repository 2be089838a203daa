/** Requests that a process began and did not end, as one that was killed leaves them. */
import { PROGRAM } from "../../src/slices.ts"
import { createHash } from "node:crypto"
import { sql } from "kysely"
import { openPostgresIdempotency } from "../../adapters/postgres/idempotency/postgres.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Program } from "../../src/frame/slice.ts"
import type { World } from "../support/world.ts"

/** The steps of a text, and of a purchase, that are stored, in their order. */
export type PaidStep = "Charge" | "QueueText" | "StartPurchase" | "PayPurchase"

/** Where a process is killed: before a step was stored, or right after it. */
export interface StepCrash {
  readonly step: PaidStep
  readonly when: "before" | "after"
}

/** What a dead process had sent to the store, which is still on its way. */
export interface InFlightAppend {
  /** It is stored now. */
  readonly deliver: () => Promise<void>
}

/**
 * Sends a request to a process that dies at this point: the steps up to it are stored, nothing is
 * answered, and the claim names a process that is not registered. Resolves once it is dead. A step that
 * was not stored may have been sent: then it arrives when the test says so.
 */
export async function crashAtStep(
  world: World,
  death: StepCrash,
  request: {
    readonly key: string
    readonly url: string
    readonly body: object
    readonly idempotencyKey: string
  },
  { entries, retiredPaths }: Pick<Program, "entries" | "retiredPaths"> = PROGRAM,
): Promise<InFlightAppend> {
  const dead = Promise.withResolvers<void>()
  let arrive = async (): Promise<void> => undefined
  const never = new Promise<never>(() => undefined)
  const { runner } = world.ports
  const execute = (async (to, command, cause, view) => {
    const isHere = (command as { readonly type?: string }).type === death.step
    if (isHere && death.when === "before") {
      arrive = async () => void (await runner.execute(to, command, cause, view))
      dead.resolve()
      return never
    }
    const outcome = await runner.execute(to, command, cause, view)
    if (isHere) {
      dead.resolve()
      return never
    }
    return outcome
  }) as Ports["runner"]["execute"]
  const pool = openPool(world.databaseUrl, 2, () => undefined)
  const idempotency = openPostgresIdempotency(pool, {
    ownId: "prc_killed",
    isAlive: async () => true,
  })
  const ports = { ...world.ports, idempotency, runner: { ...runner, execute } }
  const app = await buildApp(ports, entries, retiredPaths)
  void app.inject({
    method: "POST",
    url: request.url,
    headers: {
      authorization: `Bearer ${request.key}`,
      "idempotency-key": request.idempotencyKey,
    },
    payload: request.body,
  })
  await dead.promise
  await pool.end()
  return { deliver: () => arrive() }
}

/** Ports by which something happens right before a call is let in by its company's ledger. */
export function portsWithEntryHook(world: World, happen: () => Promise<void>): Ports {
  const { runner } = world.ports
  const buffer = (async (beside, item) => {
    await happen()
    return runner.buffer(beside, item)
  }) as Ports["runner"]["buffer"]
  return { ...world.ports, runner: { ...runner, buffer } }
}

/** How the claim on an idempotency key stands. */
export async function idempotencyClaimOf(
  world: World,
  idempotencyKey: string,
): Promise<{ readonly state: string; readonly attempt: number } | undefined> {
  const { rows } = await sql<{ state: string; attempt: number }>`
    select state, attempt from ledger.idempotent_requests where idempotency_key = ${idempotencyKey}`.execute(
    world.ports.readAll,
  )
  return rows[0]
}

/** A port of the runner that fails in a step, before or after it was stored. */
export function portsFailingAt(world: World, death: StepCrash, error: Error): Ports {
  const { runner } = world.ports
  const execute = (async (to, command, cause, view) => {
    const isHere = (command as { readonly type?: string }).type === death.step
    if (isHere && death.when === "before") throw error
    const outcome = await runner.execute(to, command, cause, view)
    if (isHere) throw error
    return outcome
  }) as Ports["runner"]["execute"]
  return { ...world.ports, runner: { ...runner, execute } }
}

/** Ports that answer nothing about recipients but an error, whoever asks. */
export function portsWithoutRecipients(world: World, error: Error): Ports {
  const { runner } = world.ports
  const guarded = async <R>(stream: string, ask: () => Promise<R>): Promise<R> => {
    if (stream.startsWith("recipient-")) throw error
    return ask()
  }
  return {
    ...world.ports,
    runner: {
      ...runner,
      execute: (...asked) => guarded(asked[0].stream, () => runner.execute(...asked)),
      read: (...asked) => guarded(asked[0].stream, () => runner.read(...asked)),
      readLatest: (...asked) => guarded(asked[0].stream, () => runner.readLatest(...asked)),
    },
  }
}

/** An idempotency key that no test was given before. */
export function newIdempotencyKey(): string {
  given += 1
  return createHash("sha256").update(String(given)).digest("hex")
}

let given = 0
