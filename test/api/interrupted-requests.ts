/** Requests that a killed process left unfinished. */
import { PROGRAM } from "../../src/slices.ts"
import { createHash } from "node:crypto"
import { sql } from "kysely"
import { openPostgresIdempotency } from "../../adapters/postgres/idempotency/postgres.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Program } from "../../src/frame/slice.ts"
import type { World } from "../support/world.ts"

/** The stored steps of a text and of a purchase, in order. */
export type PaidStep = "Charge" | "QueueText" | "StartPurchase" | "PayPurchase"

/** The moment at which a process is killed: before a step is stored, or right after. */
export interface StepCrash {
  readonly step: PaidStep
  readonly when: "before" | "after"
}

/** An append that a dead process had sent and that has not reached the store. */
export interface InFlightAppend {
  /** Stores it. */
  readonly deliver: () => Promise<void>
}

/**
 * Sends a request to a process that dies at this point: earlier steps are stored, nothing is answered, and the
 * claim names an unregistered process. Resolves once the process is dead. A step that was not stored arrives when
 * the test delivers it.
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
  let deliver = async (): Promise<void> => undefined
  const never = new Promise<never>(() => undefined)
  const { runner } = world.ports
  const execute = (async (to, command, cause, view) => {
    const isHere = (command as { readonly type?: string }).type === death.step
    if (isHere && death.when === "before") {
      deliver = async () => void (await runner.execute(to, command, cause, view))
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
  return { deliver: () => deliver() }
}

/** Ports that run a hook right before a company's ledger admits a call. */
export function portsWithEntryHook(world: World, hook: () => Promise<void>): Ports {
  const { runner } = world.ports
  const buffer = (async (target, item) => {
    await hook()
    return runner.buffer(target, item)
  }) as Ports["runner"]["buffer"]
  return { ...world.ports, runner: { ...runner, buffer } }
}

/** The state of the claim on an idempotency key. */
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

/** Ports whose runner fails in a step, before or after storing it. */
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

/** Ports that fail with an error for every access to a recipient's stream. */
export function portsWithoutRecipients(world: World, error: Error): Ports {
  const { runner } = world.ports
  const guarded = async <R>(stream: string, run: () => Promise<R>): Promise<R> => {
    if (stream.startsWith("recipient-")) throw error
    return run()
  }
  return {
    ...world.ports,
    runner: {
      ...runner,
      execute: (...args) => guarded(args[0].stream, () => runner.execute(...args)),
      read: (...args) => guarded(args[0].stream, () => runner.read(...args)),
      readLatest: (...args) => guarded(args[0].stream, () => runner.readLatest(...args)),
    },
  }
}

/** An idempotency key that no other test uses. */
export function newIdempotencyKey(): string {
  given += 1
  return createHash("sha256").update(String(given)).digest("hex")
}

let given = 0
