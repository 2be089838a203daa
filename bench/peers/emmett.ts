/**
 * A program to compare with: emmett's PostgreSQL store on the same database with the same rules. Each caller loads,
 * decides and appends, and starts again after a conflict, as emmett does. It has an advantage: a caller keeps its state,
 * and there is neither a hash chain nor metadata.
 */
import { randomUUID } from "node:crypto"
import type { Pool } from "pg"
import pg from "pg"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { accountOf, pendingChargeIds, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { openLedgerAudit } from "../decide/ledger-audit.ts"
import type { CompanySize } from "../decide/generated-company.ts"
import { generateCompany } from "../decide/generated-company.ts"
import { stampOf, openTraffic } from "../decide/traffic.ts"
import { TIGHT_DAY_MICROS } from "../fixtures/spending-company.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"

/** The used part of emmett: its types exist only if its packages are installed. */
interface Emmett {
  readonly getPostgreSQLEventStore: (
    url: string,
    options: { readonly connectionOptions: { readonly pool: Pool } },
  ) => PostgresEventStore
}

interface PostgresEventStore {
  readonly appendToStream: (
    stream: string,
    events: readonly { readonly type: string; readonly data: object }[],
    options: { readonly expectedStreamVersion: bigint },
  ) => Promise<{ readonly nextExpectedStreamVersion: bigint }>
  readonly readStream: (
    stream: string,
    options?: { readonly from: bigint },
  ) => Promise<{ readonly events: readonly { readonly data: unknown }[] }>
}

/** Imported by name: a missing package is skipped. */
export const EMMETT_PACKAGE = "@event-driven-io/emmett-postgresql"
/** The hint if it is skipped. */
export const EMMETT_NOT_INSTALLED = `${EMMETT_PACKAGE} is not installed: npm ci --prefix bench installs it`
const SEED = 20_261_121
/** emmett's code for a stream that is not at the expected version. */
const CONFLICT = 412

/** emmett's store, with a company. */
export interface EmmettPeer {
  /** Appends one event as large as a charge, each after the answer to the one before. */
  readonly append: () => Promise<boolean>
  /** Decides the next call by one of the callers. True if its charge was accepted. */
  readonly charge: (caller: number) => Promise<boolean>
  /** Reads the stream again. @throws InvalidMeasurement if a charge is missing or exceeded a limit */
  readonly check: () => Promise<void>
}

/** Imports a package; null if it is not installed. */
export async function importIfInstalled<T>(
  name: string,
  load: (name: string) => Promise<T> = (which) => import(which) as Promise<T>,
): Promise<T | null> {
  try {
    return await load(name)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ERR_MODULE_NOT_FOUND") return null
    throw error
  }
}

/** Opens emmett with so many callers; null if it is not installed. */
export async function openEmmett(
  ground: Pick<StoreEnvironment, "databaseUrl" | "foreignPool" | "clock">,
  size: CompanySize,
  callers: number,
): Promise<EmmettPeer | null> {
  const emmett = await importIfInstalled<Emmett>(EMMETT_PACKAGE)
  if (emmett === null) return null
  const pool = ground.foreignPool({ getTypeParser: emmettParser })
  const store = preservingTypeParsers(() =>
    emmett.getPostgreSQLEventStore(ground.databaseUrl, { connectionOptions: { pool } }),
  )
  const stream = `ledger-${randomUUID()}`
  const traffic = openTraffic(size, SEED)
  let accepted = 0
  const opener = openBooks(store, stream)
  for (const command of generateCompany(size, TIGHT_DAY_MICROS).openingCommands) {
    await opener.decide(command, ground.clock.now())
  }
  const books = Array.from({ length: callers }, () => openBooks(store, stream))
  const text = { d: "d".repeat(650) }
  const bare = `bare-${randomUUID()}`
  let version = 0n
  return {
    append: async () => {
      const event = { type: "Appended", data: text }
      const asked = { expectedStreamVersion: version }
      const done = await store.appendToStream(bare, [event], asked)
      version = done.nextExpectedStreamVersion
      return true
    },
    charge: async (caller) => {
      const [call] = traffic.charges(1)
      const own = books[caller]
      if (call === undefined || own === undefined) throw new Error(`there is no caller ${caller}`)
      const facts = await own.decide({ ...call.command, isPending: false }, ground.clock.now())
      if (facts > 0) accepted += 1
      return facts > 0
    },
    check: async () => {
      const audit = openLedgerAudit()
      const { events } = await store.readStream(stream)
      let state = ledgerDecider.initial()
      for (const { data } of events) {
        const fact = data as LedgerEvent
        audit.record(fact)
        state = ledgerDecider.evolve(state, fact)
      }
      const { fundsMicros } = accountOf(state)
      const limits = readLimits(state, ground.clock.now())
      audit.compare({
        acknowledged: accepted,
        fundsMicros,
        openCharges: pendingChargeIds(state),
        limits,
      })
    },
  }
}

type TypeParser = (text: string) => unknown

/** Oids of the types that emmett parses in its own way: bigint, jsonb, json. */
const EMMETT_TYPE_OIDS = [20, 3802, 114]
/** emmett's parsers, by oid. */
const emmettParsers = new Map<number, TypeParser>()

/**
 * Opens an object of emmett. The first one changes the driver's parsers for all connections of the process, and later
 * measurements would count in BigInts, so these parsers are kept for emmett's pool and the driver's are restored.
 */
function preservingTypeParsers<T>(open: () => T): T {
  const ours = EMMETT_TYPE_OIDS.map((oid): TypeParser => pg.types.getTypeParser(oid))
  const opened = open()
  for (const [i, oid] of EMMETT_TYPE_OIDS.entries()) {
    const parser: TypeParser = pg.types.getTypeParser(oid)
    if (parser !== ours[i]) emmettParsers.set(oid, parser)
    pg.types.setTypeParser(oid, ours[i] as TypeParser)
  }
  return opened
}

function emmettParser(oid: number, format?: string): TypeParser {
  return emmettParsers.get(oid) ?? pg.types.getTypeParser(oid, format as "text")
}

/** A caller's state of the stream. */
function openBooks(store: PostgresEventStore, stream: string) {
  let state: LedgerState = ledgerDecider.initial()
  let version = 0n
  let at = 0
  const readNews = async (): Promise<void> => {
    const { events } = await store.readStream(stream, { from: version + 1n })
    for (const { data } of events) {
      const fact = data as LedgerEvent
      state = ledgerDecider.evolve(state, fact)
      at = Math.max(at, fact.at)
      version += 1n
    }
  }
  return {
    /** Returns the number of stored facts. */
    decide: async (command: LedgerCommand, now: number): Promise<number> => {
      for (;;) {
        await readNews()
        const decided = ledgerDecider.decide(command, state, stampOf(Math.max(at, now)))
        if (isRefusal(decided) || decided.length === 0) return 0
        const events = decided.map((fact) => ({ type: fact.type, data: { ...fact } }))
        try {
          await store.appendToStream(stream, events, { expectedStreamVersion: version })
          return decided.length
        } catch (error) {
          if (!isConflict(error)) throw error
        }
      }
    },
  }
}

/** Whether another caller appended first, by the error's code: its class is in a package of emmett's own. */
function isConflict(error: unknown): boolean {
  return error instanceof Error && "errorCode" in error && error.errorCode === CONFLICT
}
