/** Signing in without naming a company, as everybody else of the program uses it. */
import type { Operation } from "../../../domain/access/operations.ts"
import type { Permission, Role } from "../../../domain/access/permissions.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { Refusal } from "../routes/answers/refusal.ts"

/** Somebody asked for a code. */
export interface AskedCode {
  /** What the browser that asked keeps to itself. */
  readonly browser: string
  /** Resolves once the mail is out, or could not be sent. Whoever answers the browser does not wait. */
  readonly sent: Promise<void>
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
export interface Accounts {
  /** Mails a code, if the email is anybody's. @param address as limits count it */
  readonly ask: (email: string, address: string) => AskedCode | { readonly refusal: Refusal }
  /**
   * Signs in by a code; answers the session's token, null where the code is not right, or over.
   *
   * @param name what they are called where they accept an invitation; null for the address's own name
   */
  readonly enter: (browser: string, code: string, name: string | null) => Promise<string | null>
  /** Makes something that signs a person in once, within ten minutes. */
  readonly makeLink: (companyId: CompanyId, personId: PersonId) => Promise<string>
  /** Signs in by it; answers the session's token. */
  readonly follow: (link: string) => Promise<string | null>
  /** Who is signed in, where: of each company whose person they still are, as they were. */
  readonly profilesOf: (token: string) => Promise<readonly Profile[]>
  /** Who is signed in at a company; null where nobody is. */
  readonly whoAt: (companyId: CompanyId, token: string) => Promise<Membership | null>
  readonly leave: (token: string) => Promise<void>
}
