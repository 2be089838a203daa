/** Callers of every kind of one company, created on first use. */
import type { Operation, Permission, Role } from "../../domain/access/permissions.ts"
import { ALL_OPERATIONS, PERMISSIONS } from "../../domain/access/permissions.ts"
import type { PersonId } from "../../domain/kernel/ids.ts"
import { signInHeaders } from "../access/sign-in-headers.ts"
import type { Company, World } from "../support/world.ts"
import { addPerson, makeCompany, makeKey, setLimit } from "../support/world.ts"
import type { TestKey } from "../support/company.ts"

/** The parts of a request that a sign-in signature covers. */
interface Request {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE"
  readonly url: string
  readonly body?: string
}

/** Credentials of a caller: a key and further headers. */
export interface CallerCredentials {
  readonly key: string | null
  readonly headers?: (request: Request) => Record<string, string>
}

/** Callers of a company. Each is created once. */
export interface TestCallers {
  readonly company: Company
  /** An owner's key. */
  readonly owner: () => Promise<CallerCredentials>
  /** A person with a role and no further permissions. */
  readonly withRole: (role: Role) => Promise<CallerCredentials>
  /** An owner's key with every operation except one. */
  readonly withoutOperation: (operation: Operation) => Promise<CallerCredentials>
  /** A person with every permission except one. */
  readonly withoutPermission: (permission: Permission) => Promise<CallerCredentials>
  /** A person with every permission and one denied operation. */
  readonly withDeniedOperation: (operation: Operation) => Promise<CallerCredentials>
  /** A manager with every permission: only the role is insufficient. */
  readonly withInsufficientRole: () => Promise<CallerCredentials>
  readonly withPausedKey: () => Promise<CallerCredentials>
  readonly withDeletedKey: () => Promise<CallerCredentials>
  readonly withExhaustedLimit: () => Promise<CallerCredentials>
  /** The app key without a sign-in. */
  readonly withAppKey: () => Promise<CallerCredentials>
  /** The app key with the sign-in of an owner or a user. */
  readonly signedIn: (role: "owner" | "user") => Promise<CallerCredentials>
  /** An owner of a deleted company. */
  readonly ofDeletedCompany: () => Promise<CallerCredentials>
}

/** Opens the callers of a company. */
export function callersOf(world: World, company: Company): TestCallers {
  const made = new Map<string, Promise<unknown>>()
  const once = <T>(name: string, make: () => Promise<T>): Promise<T> => {
    const former = made.get(name) ?? make()
    made.set(name, former)
    return former as Promise<T>
  }
  const person = async (role: Role, permissions: readonly Permission[] = []) =>
    (await addPerson(world, company, { role, permissions })).personId
  const keyOf = async (personId: PersonId, operations = ALL_OPERATIONS) =>
    makeKey(world, company, { person: personId, operations })
  const changed = (change: string) =>
    once(change, async () => {
      const { key, keyId } = await keyOf(company.ownerId)
      await world.operate(change, { keyId })
      return { key }
    })
  const app = () => once("app", () => makeKey(world, company, { app: true }))
  return {
    company,
    owner: async () => ({ key: company.key }),
    withRole: (role) => once(role, async () => keyOf(await person(role))),
    withoutOperation: (operation) =>
      once(`without ${operation}`, () => {
        const others = ALL_OPERATIONS.filter((one) => one !== operation)
        return keyOf(company.ownerId, others)
      }),
    withoutPermission: (permission) =>
      once(`lacking ${permission}`, async () => {
        const others = PERMISSIONS.filter((one) => one !== permission)
        return keyOf(await person("user", others))
      }),
    withDeniedOperation: (operation) =>
      once(`denied ${operation}`, async () => {
        const personId = await person("user", PERMISSIONS)
        await world.operate("person app", { personId, deny: [operation] })
        return keyOf(personId)
      }),
    withInsufficientRole: () =>
      once("low role", async () => keyOf(await person("manager", PERMISSIONS))),
    withPausedKey: () => changed("key pause"),
    withDeletedKey: () => changed("key delete"),
    withExhaustedLimit: () =>
      once("used up", async () => {
        const { key, keyId } = await keyOf(company.ownerId)
        await setLimit(world, company, { key: keyId, period: "day", dollars: "0" })
        return { key }
      }),
    withAppKey: app,
    signedIn: async (role) => {
      const personId =
        role === "owner" ? company.ownerId : await once("signed in", () => person(role))
      return signedInCredentials(world, await app(), personId)
    },
    ofDeletedCompany: () => once("deleted company", () => deletedCompanyOwner(world)),
  }
}

function signedInCredentials(
  world: World,
  { key, appSecret }: TestKey,
  personId: PersonId,
): CallerCredentials {
  return {
    key,
    headers: (request) => {
      const time = new Date(world.ports.clock.now()).toISOString()
      return signInHeaders(appSecret, { ...request, personId, time })
    },
  }
}

async function deletedCompanyOwner(world: World): Promise<CallerCredentials> {
  const { companyId, key } = await makeCompany(world)
  await world.operate("company delete", { company: companyId })
  return { key }
}
