/**
 * What an operator can do, as data: the command line parses words into the input of an operation
 * and sends it to the running server, or runs it itself where none runs. One list, one meaning.
 */
import type { Kysely } from "kysely"
import type { ReadModelTables } from "../../../projections/kernel/table.ts"
import type { ZodType } from "zod"
import type { BackupTableReader } from "../../../adapters/postgres/installation/port.ts"
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import type { Processes } from "../../../adapters/postgres/leases/port.ts"
import type { Signing } from "../../../adapters/sealing/port.ts"
import type { Simulators } from "../../../adapters/providers/simulators/port.ts"
import type { TreeHeads } from "../../../adapters/postgres/tree-heads/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseKeyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import type { JobWorkers } from "../effects/job-workers.ts"
import type { Irreversible } from "./cli/command-spec.ts"
import type { OutputPage } from "./cli/render.ts"
import type { Person, Permission, Role } from "../../../domain/access/permissions.ts"
import type { RateLimit } from "../routes/checks/rate-limits.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { findKey } from "../../../domain/access/access.ts"

/** Everything an operation can work with. */
export interface AdminPorts extends Ports {
  /** The stream that holds the intent a charge is for; null where the charge is its own. */
  readonly streamOfIntent: (companyId: CompanyId, resource: string) => string | null
  readonly jobWorkers: JobWorkers
  readonly processes: Processes
  /** What the simulators do next. */
  readonly simulators: Simulators
  /** Sets the test clock; null where the clock is the system's. */
  readonly setClock: ((at: number) => Promise<void>) | null
  /** Forgets what has been kept for its time. */
  readonly runHousekeeping: () => Promise<void>
  /** Writes down what is gathered and not yet stored: closings, refusals. */
  readonly flush: () => Promise<void>
  /** Since when the database does not answer, in UTC milliseconds; null where it does. */
  readonly unresponsiveSince: () => number | null
  /** What a backup holds beside the events. */
  readonly backupSet: BackupTableReader
  /** What slices have outside of PostgreSQL and the event store, in backups. */
  readonly externalBackup: ExternalBackup
  readonly signing: Signing
  readonly treeHeads: TreeHeads
  /** The event store without what is held back of corrupt streams. */
  readonly provenStore: Pick<EventStore, "readAll" | "head">
  /** Reads all streams of the event store, those of other programs too. */
  readonly readAllStreams: EventStore["readAll"]
  /** Reads the read models as a company sees them, query by query. */
  readonly readModelsOf: (companyId: CompanyId) => Kysely<ReadModelTables>
  /** Every checkpoint that is kept, for the audit. */
  readonly checkpointOf: (stream: string) => Promise<AuditedCheckpoint | null>
}

/** What slices have outside of PostgreSQL and the event store, in backups. */
export interface ExternalBackup {
  /**
   * Puts it into blobs, where a backup finds it.
   *
   * @returns takes it out of them again: to be called once the backup is written, or was not
   * @throws OperatorRefused while another backup or restore is under way
   */
  readonly stage: (
    progress: (message: string) => void,
    signal: AbortSignal,
  ) => Promise<() => Promise<void>>
  /** Puts what a restore has brought in blobs to its place; done again after a crash. */
  readonly restore: (progress: (message: string) => void) => Promise<void>
}

/** A checkpoint as the audit compares it. */
export interface AuditedCheckpoint {
  readonly revision: number
  /** Of the event of this revision, as the checkpoint has it. */
  readonly hash: string
  readonly format: number
  /** What was saved, as it is kept: JSON, where nobody broke it. */
  readonly text: string
}

/** How an operation talks to its operator while it works. */
export interface AdminContext {
  readonly ports: AdminPorts
  /** Who does it, and why: goes into the metadata of every fact. */
  readonly cause: Cause
  /** The company in whose console it is done, of which alone anything is seen; absent for an operator. */
  readonly companyScope?: CompanyId
  /** Tells how far long work has come. */
  readonly progress: (message: string) => void
  /** Sends a piece of a file, text or bytes; resolves when there is room for the next. */
  readonly send: (chunk: string | Uint8Array) => Promise<void>
  /** Aborted when the operator no longer waits: long work may stop between two steps. */
  readonly signal: AbortSignal
}

/** An operation: what it takes and does, and the words by which the command line offers it. */
export interface AdminOperation<I = unknown, O = unknown> {
  readonly does: "operation"
  /** One or two words, such as `company create`. */
  readonly name: string
  /** What it does, as help says it; without one the command line does not offer it. */
  readonly summary?: string
  /** Units and whatever else one has to know, a sentence a line. */
  readonly notes?: readonly string[]
  /** Words of the command line that can be given as they stand. */
  readonly example?: string
  /** Its fields are the options and arguments of the command line: see `catalogue.ts`. */
  readonly input: ZodType<I>
  /** Whether it changes something: then it takes `--as` and `--reason`. */
  readonly changes?: true
  /**
   * Whether an installation is made for it where there is none; every other command then says that
   * there is none, so that a folder's misspelt name makes no second one.
   */
  readonly createsInstallation?: true
  /** Whether `--reason` must be given, because it becomes part of the fact. */
  readonly needsReason?: true
  /**
   * What is lost: the command line asks for its name before, or for `--yes`, and it is not done for
   * whoever confirms no such name.
   */
  readonly irreversible?: Irreversible<Extract<keyof I, string>>
  /** Whether it takes `--out` for what it sends. */
  readonly hasFile?: true
  /** Whether what it sends holds personal data: the file of `--out` is then its owner's alone to read. */
  readonly isPrivate?: true
  /** What it sends nobody else may read; the file is then named by the word FILE. */
  readonly hasSecretFile?: true
  /** Whether it may take an hour: it then outlasts a database that falls silent on the way. */
  readonly isLongRunning?: true
  /** Who may do it in their company's console, beside the operator; absent: the operator alone. */
  readonly consoleAccess?: ConsoleAccess<I>
  /** Whether `ok` of its answer says that all is well; exit code 1 where it does not. */
  readonly isVerdict?: true
  readonly run: (context: AdminContext, input: I) => Promise<O>
  /** The answer for people, beside it the name of its `file`; default all its fields. */
  readonly render?: (result: O, page: OutputPage) => string
}

/** Checks an operation's types where it is written, and forgets them for the list of all. */
export function operation<I, O>(spec: Omit<AdminOperation<I, O>, "does">): AdminOperation {
  return { ...spec, does: "operation" } as unknown as AdminOperation
}

/** The operation cannot be done as asked: exit code 1 with `{error, message}` and what else helps. */
export class OperatorRefused extends Error {
  override readonly name = "OperatorRefused"
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>
  constructor(code: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.code = code
    this.details = details
  }
}

/** Somebody of a company asks for something. */
export interface ConsoleAccessRequest<I> {
  readonly input: I
  readonly person: Person
  readonly companyId: CompanyId
  readonly ports: Ports
}

/** Those who may, whomever of the company it is about. Owners and admins hold every permission. */
type AllowedMembers =
  | { readonly permission: Permission; readonly roles?: undefined }
  | { readonly roles: readonly Role[]; readonly permission?: undefined }

/** Who may do an operation in a console. What it is about is always the console's company alone. */
export type ConsoleAccess<I> = AllowedMembers & {
  /**
   * Whoever else may as far as it is about themselves: the input as it is about them alone; null where it is
   * not about them.
   */
  readonly ownInput?: (asking: ConsoleAccessRequest<I>) => I | null | Promise<I | null>
  /** Why not even those may who may otherwise; null where nothing stands against it. */
  readonly denialReason?: (
    asking: ConsoleAccessRequest<I>,
  ) => string | null | Promise<string | null>
  /** Whether consoles of this installation have it at all; default that they do. */
  readonly isAvailable?: (ports: Ports) => boolean
  /** How often, per person. */
  readonly rateLimit?: RateLimit
  /** The email that it has mailed to, which is counted as codes are. */
  readonly recipientEmail?: (input: I) => string
  /** Whether it can be done while the company is deleted and not erased yet. */
  readonly isAllowedWhileDeleted?: true
}

/** Everybody who may change what the company is: its limits, cards, plan, keys of others. */
export const OWNER_OR_ADMIN: readonly Role[] = ["owner", "admin"]

/** Whether a key is theirs. */
export async function isOwnKey(
  { ports, companyId, person }: ConsoleAccessRequest<unknown>,
  named: string | undefined,
): Promise<boolean> {
  const keyId = parseKeyId(named ?? "")
  if (keyId === null) return false
  const key = await ports.runner.readLatest(accessStreamOf(companyId), (state) =>
    findKey(state, keyId),
  )
  return key?.personId === person.personId
}

/** The input, where the key that it names is theirs. */
export async function inputForOwnKey<I extends { readonly key?: string | undefined }>(
  asking: ConsoleAccessRequest<I>,
): Promise<I | null> {
  return (await isOwnKey(asking, asking.input.key)) ? asking.input : null
}

/** How often somebody has whole histories and bills written. */
export const CONSOLE_FILE_RATE_LIMIT: RateLimit = {
  name: "console files",
  max: 6,
  per: "key",
  calls: "files by this person",
}
