/** The ports of the console: sign-in, and the operator's operations that its users run themselves. */
import type { Operation, Permission, Role } from "../../domain/access/permissions.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Refusal } from "./routes/answers/refusal.ts"

export interface SignInCodeRequest {
  /** Secret that ties the code to the browser that requested it. */
  readonly browserToken: string
  /** Resolves once the mail is sent or has failed. The answer to the browser does not wait for it. */
  readonly mailSent: Promise<void>
}

/** A person's membership of a company, with the role. */
export interface Membership {
  readonly companyId: CompanyId
  readonly personId: PersonId
  readonly role: Role
}

/** A membership, with the names and permissions that the console shows. */
export interface Profile extends Membership {
  /** Names of the company and the person; null once erased. */
  readonly company: string | null
  readonly name: string | null
  readonly email: string | null
  readonly permissions: readonly Permission[]
  /** Operations of the API that a key of this person can be granted. */
  readonly operations: readonly Operation[]
  /** When the data of a deleted company is erased, ISO 8601; null if the company is not deleted. */
  readonly deleteDataAfter: string | null
}

export interface ConsoleSignIn {
  /** Mails a code if a person has this email. @param address the client's address, for rate limits */
  readonly requestCode: (
    email: string,
    address: string,
  ) => SignInCodeRequest | { readonly refusal: Refusal }
  /**
   * Signs in with a code. Returns the session's token, or null if the code is wrong or expired.
   *
   * @param name the name of a person who accepts an invitation; null to take it from the email address
   */
  readonly signInWithCode: (
    browser: string,
    code: string,
    name: string | null,
  ) => Promise<string | null>
  /** Creates a link that signs a person in once, within ten minutes. */
  readonly createLink: (companyId: CompanyId, personId: PersonId) => Promise<string>
  /** Signs in with a link. Returns the session's token; null if the link is not valid. */
  readonly signInWithLink: (link: string) => Promise<string | null>
  /** Returns the session's memberships whose person still exists with an unchanged role. */
  readonly profilesOf: (token: string) => Promise<readonly Profile[]>
  /** Returns the session's membership of a company; null if there is none. */
  readonly findMembership: (companyId: CompanyId, token: string) => Promise<Membership | null>
  readonly signOut: (token: string) => Promise<void>
}

/** The result of an operation, or why it was rejected. */
export type OperationOutcome = { readonly result: unknown } | { readonly refusal: Refusal }

/** A request to run an operation. */
export interface ConsoleRequest {
  /** The person, taken from a checked session. */
  readonly companyId: CompanyId
  readonly personId: PersonId
  /** Stored in the metadata of facts. */
  readonly requestId: string
  /** The client's address, for rate limits. */
  readonly address: string
  /** Name of the operation as in URL paths: `key-create`. */
  readonly operation: string
  readonly input: Readonly<Record<string, unknown>>
  readonly reason: string | null
  /** Value that confirms an irreversible operation; null if not confirmed. */
  readonly confirmation: string | null
  /** The uploaded file, if the operation reads one. */
  readonly file: AsyncIterable<Uint8Array> | null
}

/** The connection to the client while an operation runs. */
export interface ConsoleChannel {
  /** Sends a piece of the file that the operation produces; resolves when there is room for the next. */
  readonly send: (piece: string | Uint8Array) => Promise<void>
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
}

/** An operation as the console shows it to a person. */
export interface OfferedOperation {
  /** Name of the operation as in URL paths. */
  readonly name: string
  /** The equivalent words of the command line. */
  readonly command: string
  readonly summary: string
  readonly notes: readonly string[]
  /** JSON Schema of its input; the company may be omitted. */
  readonly input: Readonly<Record<string, unknown>>
  readonly changes: boolean
  readonly needsReason: boolean
  /** The data that is lost, and the input field that confirms it; null if the operation is reversible. */
  readonly irreversible: { readonly field: string; readonly says: string } | null
  /** Whether it reads an uploaded file, or produces one. */
  readonly takesFile: boolean
  readonly sendsFile: boolean
  /** Whether the person may run it for everyone, only for themselves, or not at all. */
  readonly may: "all" | "own" | "no"
}

/** The operator's operations, for users of the console. */
export interface ConsoleOperations {
  /** Lists all operations and whether the person may run each. */
  readonly listOperations: (
    who: Pick<ConsoleRequest, "companyId" | "personId">,
  ) => Promise<readonly OfferedOperation[]>
  /**
   * Runs an operation. Errors that the person can act on are refusals; all others are thrown.
   *
   * @throws the signal's reason
   */
  readonly runOperation: (
    request: ConsoleRequest,
    talk: ConsoleChannel,
  ) => Promise<OperationOutcome>
}
