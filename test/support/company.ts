/** Makes companies with people, keys, funds and limits, by operations. */
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"

/** Runs operations: a world, or a server's data folder. */
export interface OperationRunner {
  // Each test knows the result of the operation that it runs.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly operate: (name: string, input?: object) => Promise<any>
}

/** A company with an owner and a key that may use every operation. */
export interface Company {
  readonly companyId: CompanyId
  readonly ownerId: PersonId
  readonly keyId: KeyId
  readonly key: string
  readonly name: string
}

type CompanyRef = Pick<Company, "companyId"> & { readonly ownerId?: PersonId }

/** A person; by default a manager with a name and an address that no other person has. */
export interface PersonOptions {
  readonly name?: string
  readonly email?: string
  readonly role?: string
  readonly permissions?: readonly string[]
}

/** A key's operations and purchase limits; by default every operation. */
interface KeyRights {
  readonly operations?: readonly string[]
  readonly label?: string
  /** Dollars. */
  readonly addFundsPerPurchase?: string
  /** Dollars. */
  readonly addFundsPerMonth?: string
}

/** A key of a person, of the app, or of a new person. */
export interface KeyOptions extends KeyRights, PersonOptions {
  readonly person?: PersonId
  readonly app?: boolean
}

/** A key as the operation returns it, once. */
export interface TestKey {
  readonly keyId: KeyId
  readonly key: string
  readonly personId: PersonId
  /** Only of an app key. */
  readonly appSecret: string
}

/** A limit; by default the company's monthly limit for general spending. A key's limit has no class. */
export interface LimitOptions {
  readonly dollars: string
  readonly class?: string
  readonly period?: string
  readonly person?: PersonId
  readonly key?: KeyId
  readonly reminders?: readonly string[]
  readonly leaveKeysOut?: boolean
}

/** A company; by default one with $50 and a verified card. */
export interface CompanyOptions {
  readonly name?: string
  /** Dollars. */
  readonly funds?: string
  readonly ownerName?: string
  readonly ownerEmail?: string
  readonly card?: "verified" | "unverified" | "none"
  readonly withNumber?: boolean
  /** Options of the owner's key. */
  readonly key?: KeyRights
  readonly limits?: readonly LimitOptions[]
}

let companies = 0
let people = 0

/** Makes a company with an owner, the owner's key, a card and limits. */
export async function makeCompany(
  operator: OperationRunner,
  { card = "verified", key = {}, limits = [], ...options }: CompanyOptions = {},
): Promise<Company> {
  companies += 1
  const { companyId, ownerId, name } = await operator.operate("company create", {
    name: `company ${companies}`,
    funds: "50",
    ownerEmail: "owner@example.com",
    ...options,
  })
  if (card !== "none")
    await operator.operate("card set", { company: companyId, verified: card === "verified" })
  const made = await makeKey(operator, { companyId, ownerId }, key)
  for (const limit of limits) await setLimit(operator, { companyId }, limit)
  return { companyId, ownerId, name, keyId: made.keyId, key: made.key }
}

/** Adds a person to a company. */
export async function addPerson(
  { operate }: OperationRunner,
  { companyId }: CompanyRef,
  options: PersonOptions = {},
) {
  people += 1
  const person = {
    name: `Person ${people}`,
    email: `person${people}@example.com`,
    role: "manager",
    ...options,
  }
  const { personId } = await operate("person add", { company: companyId, ...person })
  return { personId: personId as PersonId, ...person }
}

/** Makes a key of the app, of a person, or of a new person if the options describe one; otherwise of the owner. */
export async function makeKey(
  operator: OperationRunner,
  company: CompanyRef,
  { app = false, person, ...options }: KeyOptions = {},
): Promise<TestKey> {
  const { operations, label, addFundsPerPurchase, addFundsPerMonth, ...theirs } = options
  const personOf = async () => {
    if (person !== undefined || Object.keys(theirs).length === 0) return person ?? company.ownerId
    return (await addPerson(operator, company, theirs)).personId
  }
  return operator.operate("key create", {
    company: company.companyId,
    person: app ? undefined : await personOf(),
    app,
    allOperations: operations === undefined,
    operations,
    label,
    addFundsPerPurchase,
    addFundsPerMonth,
  })
}

/** Sets a limit. */
export function setLimit(
  { operate }: OperationRunner,
  { companyId }: CompanyRef,
  { class: limitClass = "general", period = "month", ...limit }: LimitOptions,
) {
  const scope = limit.key === undefined ? { class: limitClass } : {}
  return operate("limit set", { company: companyId, ...scope, period, ...limit })
}

/** A company's funds in micro-dollars. */
export async function fundsMicrosOf(
  { operate }: OperationRunner,
  { companyId }: CompanyRef,
): Promise<number> {
  return (await operate("company show", { company: companyId })).balanceMicros
}

/** A company's spending in micro-dollars; `funds` is its initial funds in dollars. */
export async function spentMicrosOf(
  operator: OperationRunner,
  company: CompanyRef,
  funds = 50,
): Promise<number> {
  return funds * 1_000_000 - (await fundsMicrosOf(operator, company))
}

/** Advances the clock; jobs that fall due run at their time. */
export async function advance({ operate }: OperationRunner, duration: string): Promise<void> {
  await operate("clock advance", { duration })
}
