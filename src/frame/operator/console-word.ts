/** What an operation says of itself for companies' consoles: who of a company may do it, beside the operator. */
import type { Person, Permission, Role } from "../../../domain/access/permissions.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { RateLimit } from "../routes/checks/rate-limits.ts"
import type { Ports } from "../ports.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import { findKey } from "../../../domain/access/access.ts"
import { parseKeyId } from "../../../domain/kernel/ids.ts"

/** Somebody of a company asks for something. */
export interface Asking<I> {
  readonly input: I
  readonly me: Person
  readonly companyId: CompanyId
  readonly ports: Ports
}

/** Those who may, whomever of the company it is about. Owners and admins hold every permission. */
type May =
  | { readonly permission: Permission; readonly roles?: undefined }
  | { readonly roles: readonly Role[]; readonly permission?: undefined }

/** Who may do an operation in a console. What it is about is always the console's company alone. */
export type ConsoleWord<I> = May & {
  /**
   * Whoever else may as far as it is about themselves: the input as it is about them alone; null where it is
   * not about them.
   */
  readonly own?: (asking: Asking<I>) => I | null | Promise<I | null>
  /** Why not even those may who may otherwise; null where nothing stands against it. */
  readonly bars?: (asking: Asking<I>) => string | null | Promise<string | null>
  /** Whether consoles of this installation have it at all; default that they do. */
  readonly isHere?: (ports: Ports) => boolean
  /** How often, per person. */
  readonly rate?: RateLimit
  /** The email that it has mailed to, which is counted as codes are. */
  readonly mailsTo?: (input: I) => string
  /** Whether it can be done while the company is deleted and not erased yet. */
  readonly whileDeleted?: true
}

/** Everybody who may change what the company is: its limits, cards, plan, keys of others. */
export const OWNER_OR_ADMIN: readonly Role[] = ["owner", "admin"]

/** Whether a key is theirs. */
export async function isOwnKey(
  { ports, companyId, me }: Asking<unknown>,
  named: string | undefined,
): Promise<boolean> {
  const keyId = parseKeyId(named ?? "")
  if (keyId === null) return false
  const key = await ports.runner.readLatest(accessOf(companyId), (state) => findKey(state, keyId))
  return key?.personId === me.personId
}

/** The input, where the key that it names is theirs. */
export async function ofOwnKey<I extends { readonly key?: string | undefined }>(
  asking: Asking<I>,
): Promise<I | null> {
  return (await isOwnKey(asking, asking.input.key)) ? asking.input : null
}

/** How often somebody has whole histories and bills written. */
export const FILES_WRITTEN: RateLimit = {
  name: "console files",
  most: 6,
  per: "key",
  calls: "files by this person",
}
