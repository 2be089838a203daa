/**
 * A peer: emmett's PostgreSQL store, on the same database, with the same rules. Each caller loads,
 * decides, appends and begins anew where somebody else was quicker, as emmett does it. It has it easy:
 * a caller keeps the state it had, and there is neither a hash chain nor metadata.
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

/** What is asked of emmett: its types are here only where its packages are installed. */
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

/** What is imported, by name: a package that is not installed is left out. */
export const EMMETT_PACKAGE = "@event-driven-io/emmett-postgresql"
/** What to do where it is left out. */
export const EMMETT_NOT_INSTALLED = `${EMMETT_PACKAGE} is not installed: npm ci --prefix bench installs it`
const SEED = 20_261_121
/** How emmett says that the stream is not at the expected version. */
const CONFLICT = 412

/** emmett's store, and a company on it. */
export interface EmmettPeer {
  /** Appends one event as large as a charge; each after the answer to the one before. */
  readonly append: () => Promise<boolean>
  /** Has the next call decided by one of the callers. True where its charge was accepted. */
  readonly charge: (caller: number) => Promise<boolean>
  /** Reads the stream again. @throws InvalidMeasurement where a charge is missing or passed a limit */
  readonly check: () => Promise<void>
}

/** Imports a package; null where it is not installed. */
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

/** Opens the peer with so many callers; null where emmett is not installed. */
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

/** Oids of what emmett reads in its own way: bigint, jsonb, json. */
const EMMETT_TYPE_OIDS = [20, 3802, 114]
/** How it reads them, by oid. */
const emmettParsers = new Map<number, TypeParser>()

/**
 * Opens something of emmett's. The first time it tells the driver how to read values, for all
 * connections of the process, and whatever is measured later would count in BigInts: that is kept for
 * its own pool, and the driver is given back what it had.
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

/** What one caller knows of the stream. */
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
    /** Answers how many facts were stored. */
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

/** Whether somebody else appended first: told by its code, for the class is in a package beside it. */
function isConflict(error: unknown): boolean {
  return error instanceof Error && "errorCode" in error && error.errorCode === CONFLICT
}
