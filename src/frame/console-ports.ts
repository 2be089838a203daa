/** What a console asks of the program: signing people in, and the operations that they do themselves. */
import type { Operation, Permission, Role } from "../../domain/access/permissions.ts"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Refusal } from "./routes/answers/refusal.ts"

/** Somebody asked for a code. */
export interface SignInCodeRequest {
  /** What the browser that asked keeps to itself. */
  readonly browserToken: string
  /** Resolves once the mail is out, or could not be sent. Whoever answers the browser does not wait. */
  readonly mailSent: Promise<void>
}

/** Somebody of a company, who they are there. */
export interface Membership {
  readonly companyId: CompanyId
  readonly personId: PersonId
  readonly role: Role
}

/** Who somebody is at a company. */
export interface Profile extends Membership {
  /** What the company is called, and they themselves; null once that was erased. */
  readonly company: string | null
  readonly name: string | null
  readonly email: string | null
  readonly permissions: readonly Permission[]
  /** What they may do by the API: a key of theirs can be granted it. */
  readonly operations: readonly Operation[]
  /** From when on the data of a deleted company is erased, ISO 8601; null where it is not deleted. */
  readonly deleteDataAfter: string | null
}

/** Signing in for the console. */
export interface ConsoleSignIn {
  /** Mails a code, if the email is anybody's. @param address as limits count it */
  readonly requestCode: (
    email: string,
    address: string,
  ) => SignInCodeRequest | { readonly refusal: Refusal }
  /**
   * Signs in by a code; answers the session's token, null where the code is not right, or over.
   *
   * @param name what they are called where they accept an invitation; null for the address's own name
   */
  readonly signInWithCode: (
    browser: string,
    code: string,
    name: string | null,
  ) => Promise<string | null>
  /** Makes something that signs a person in once, within ten minutes. */
  readonly createLink: (companyId: CompanyId, personId: PersonId) => Promise<string>
  /** Signs in by it; answers the session's token. */
  readonly signInWithLink: (link: string) => Promise<string | null>
  /** Who is signed in, where: of each company whose person they still are, as they were. */
  readonly profilesOf: (token: string) => Promise<readonly Profile[]>
  /** Who is signed in at a company; null where nobody is. */
  readonly findMembership: (companyId: CompanyId, token: string) => Promise<Membership | null>
  readonly signOut: (token: string) => Promise<void>
}

/** What an operation came to. */
export type OperationOutcome = { readonly result: unknown } | { readonly refusal: Refusal }

/** Somebody asks for one. */
export interface ConsoleRequest {
  /** Who they are: a session was looked at. */
  readonly companyId: CompanyId
  readonly personId: PersonId
  /** Names it in the metadata of facts. */
  readonly requestId: string
  /** Where it comes from, as limits count it. */
  readonly address: string
  /** The name of the operation as paths have it: `key-create`. */
  readonly operation: string
  readonly input: Readonly<Record<string, unknown>>
  readonly reason: string | null
  /** What is meant to be lost, by the name it was given; null where nobody said so. */
  readonly confirmation: string | null
  /** A file that came with it, where the operation reads one. */
  readonly file: AsyncIterable<Uint8Array> | null
}

/** How one is answered while it is done. */
export interface ConsoleChannel {
  /** Takes a piece of the file that it sends; resolves when there is room for the next. */
  readonly send: (piece: string | Uint8Array) => Promise<void>
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal
}

/** An operation as somebody is shown it. */
export interface OfferedOperation {
  /** As paths have it. */
  readonly name: string
  /** The words of the command line that do the same. */
  readonly command: string
  readonly summary: string
  readonly notes: readonly string[]
  /** JSON Schema of its input; the company need not be said. */
  readonly input: Readonly<Record<string, unknown>>
  readonly changes: boolean
  readonly needsReason: boolean
  /** What is lost, and by which field of the input it is confirmed; null where nothing is. */
  readonly irreversible: { readonly field: string; readonly says: string } | null
  /** Whether it takes a file, or sends one. */
  readonly takesFile: boolean
  readonly sendsFile: boolean
  /** Whether this person may do it: whomever it is about, about themselves alone, or not at all. */
  readonly may: "all" | "own" | "no"
}

/** The operations of consoles. */
export interface ConsoleOperations {
  /** All there are, and which of them somebody may do. */
  readonly listOperations: (
    who: Pick<ConsoleRequest, "companyId" | "personId">,
  ) => Promise<readonly OfferedOperation[]>
  /**
   * Does one. Whatever an operator could act on is a refusal; all else is thrown.
   *
   * @throws the signal's reason
   */
  readonly runOperation: (
    request: ConsoleRequest,
    talk: ConsoleChannel,
  ) => Promise<OperationOutcome>
}
