/**
 * Operator operations, as data: the command line parses words into an operation's input and sends it to the
 * running server, or runs it itself if there is none.
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

export interface AdminPorts extends Ports {
  /** Finds the stream that holds the intent behind a charge; null if the charge itself is the intent. */
  readonly streamOfIntent: (companyId: CompanyId, resource: string) => string | null
  readonly jobWorkers: JobWorkers
  readonly processes: Processes
  /** The next outcomes of the simulators. */
  readonly simulators: Simulators
  /** Sets the test clock; null if the system clock is used. */
  readonly setClock: ((at: number) => Promise<void>) | null
  /** Deletes expired data. */
  readonly runHousekeeping: () => Promise<void>
  /** Stores buffered facts: settlements and refusals. */
  readonly flush: () => Promise<void>
  /** When the database stopped answering, UTC milliseconds; null if it answers. */
  readonly unresponsiveSince: () => number | null
  /** The tables that a backup contains in addition to the events. */
  readonly backupSet: BackupTableReader
  /** Data of slices outside PostgreSQL and the event store, for backups. */
  readonly externalBackup: ExternalBackup
  readonly signing: Signing
  readonly treeHeads: TreeHeads
  /** The event store without the held-back events of corrupt streams. */
  readonly provenStore: Pick<EventStore, "readAll" | "head">
  /** Reads all streams of the event store, including those of other programs. */
  readonly readAllStreams: EventStore["readAll"]
  /** Returns read models that show a company's rows only. */
  readonly readModelsOf: (companyId: CompanyId) => Kysely<ReadModelTables>
  /** Reads the stored checkpoint of a stream, for the audit. */
  readonly checkpointOf: (stream: string) => Promise<AuditedCheckpoint | null>
}

/** Backs up data of slices outside PostgreSQL and the event store. */
export interface ExternalBackup {
  /**
   * Copies the data into blobs, which a backup contains.
   *
   * @returns a function that deletes these blobs; call it after the backup, also if that failed
   * @throws OperatorRefused while another backup or restore runs
   */
  readonly stage: (
    progress: (message: string) => void,
    signal: AbortSignal,
  ) => Promise<() => Promise<void>>
  /** Restores the data from the blobs of a restored backup; runs again after a crash. */
  readonly restore: (progress: (message: string) => void) => Promise<void>
}

/** A checkpoint, for the audit. */
export interface AuditedCheckpoint {
  readonly revision: number
  /** Hash of the event at this revision, according to the checkpoint. */
  readonly hash: string
  readonly format: number
  /** The stored state; valid JSON unless it was tampered with. */
  readonly text: string
}

/** The context of a running operation. */
export interface AdminContext {
  readonly ports: AdminPorts
  /** The actor and reason, stored in the metadata of every fact. */
  readonly cause: Cause
  /** The company whose console runs it, which limits what it can see; absent for an operator. */
  readonly companyScope?: CompanyId
  /** Reports the progress of long work. */
  readonly progress: (message: string) => void
  /** Sends a piece of a file, text or bytes; resolves when there is room for the next. */
  readonly send: (chunk: string | Uint8Array) => Promise<void>
  /** Aborted when the operator no longer waits: long work may stop between two steps. */
  readonly signal: AbortSignal
}

/** An operation: its input, its work, and the words of the command line. */
export interface AdminOperation<I = unknown, O = unknown> {
  readonly does: "operation"
  /** One or two words, such as `company create`. */
  readonly name: string
  /** Summary for the help text; without one the command line does not offer it. */
  readonly summary?: string
  /** Units and other remarks, one sentence per line. */
  readonly notes?: readonly string[]
  /** An example command line that can be pasted. */
  readonly example?: string
  /** Its fields are the options and arguments of the command line: see `catalogue.ts`. */
  readonly input: ZodType<I>
  /** Whether it changes something: then it takes `--as` and `--reason`. */
  readonly changes?: true
  /**
   * Whether it creates a missing installation. Other commands fail instead, so that a misspelt folder creates
   * no second one.
   */
  readonly createsInstallation?: true
  /** Whether `--reason` is required, because it becomes part of the fact. */
  readonly needsReason?: true
  /** Set if it is irreversible: it runs only if the name of the affected thing or `--yes` confirms it. */
  readonly irreversible?: Irreversible<Extract<keyof I, string>>
  /** Whether it takes `--out` for the file that it produces. */
  readonly hasFile?: true
  /** Whether its file holds personal data: then only its owner may read the `--out` file. */
  readonly isPrivate?: true
  /** Whether its file is secret; the argument FILE then names it. */
  readonly hasSecretFile?: true
  /** Whether it may take an hour: then it survives a database that stops answering for a while. */
  readonly isLongRunning?: true
  /** Who may run it in their company's console; absent for operators only. */
  readonly consoleAccess?: ConsoleAccess<I>
  /** Whether the exit code is 1 if `ok` of its answer is false. */
  readonly isVerdict?: true
  readonly run: (context: AdminContext, input: I) => Promise<O>
  /** Renders the answer for people, including the name of its `file`; default all fields. */
  readonly render?: (result: O, page: OutputPage) => string
}

/** Checks an operation's types and erases them for the common list. */
export function operation<I, O>(spec: Omit<AdminOperation<I, O>, "does">): AdminOperation {
  return { ...spec, does: "operation" } as unknown as AdminOperation
}

/** The operation was rejected: exit code 1 with `{error, message}` and details. */
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

/** A console user's request. */
export interface ConsoleAccessRequest<I> {
  readonly input: I
  readonly person: Person
  readonly companyId: CompanyId
  readonly ports: Ports
}

/** Who may run it for everyone in the company. Owners and admins hold every permission. */
type AllowedMembers =
  | { readonly permission: Permission; readonly roles?: undefined }
  | { readonly roles: readonly Role[]; readonly permission?: undefined }

/** Who may run an operation in the console, for their own company only. */
export type ConsoleAccess<I> = AllowedMembers & {
  /** Limits the input to the person's own data, for persons without the permission; null if it is not theirs. */
  readonly ownInput?: (asking: ConsoleAccessRequest<I>) => I | null | Promise<I | null>
  /** Returns why even a permitted person may not run it; null if they may. */
  readonly denialReason?: (
    asking: ConsoleAccessRequest<I>,
  ) => string | null | Promise<string | null>
  /** Whether the consoles of this installation offer it; default yes. */
  readonly isAvailable?: (ports: Ports) => boolean
  /** Rate limit per person. */
  readonly rateLimit?: RateLimit
  /** Returns the address that it mails to, which the rate limits of sign-in codes count. */
  readonly recipientEmail?: (input: I) => string
  /** Whether it can run while the company is deleted and not erased yet. */
  readonly isAllowedWhileDeleted?: true
}

/** Roles that may change the company: its limits, cards, plan and other people's keys. */
export const OWNER_OR_ADMIN: readonly Role[] = ["owner", "admin"]

/** Whether a key belongs to the person. */
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

/** Returns the input if the key that it names belongs to the person; else null. */
export async function inputForOwnKey<I extends { readonly key?: string | undefined }>(
  asking: ConsoleAccessRequest<I>,
): Promise<I | null> {
  return (await isOwnKey(asking, asking.input.key)) ? asking.input : null
}

/** Rate limit of exports of histories and bills in the console. */
export const CONSOLE_FILE_RATE_LIMIT: RateLimit = {
  name: "console files",
  max: 6,
  per: "key",
  calls: "files by this person",
}
