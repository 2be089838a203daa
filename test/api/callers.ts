/** Callers of every kind, made as they are asked for, of one company. */
import type { Operation, Permission, Role } from "../../domain/access/permissions.ts"
import { ALL_OPERATIONS, PERMISSIONS } from "../../domain/access/permissions.ts"
import type { PersonId } from "../../domain/kernel/ids.ts"
import { signInHeaders } from "../access/sign-in-headers.ts"
import type { Company, World } from "../support/world.ts"
import { addPerson, makeCompany, makeKey, setLimit } from "../support/world.ts"
import type { TestKey } from "../support/company.ts"

/** A request as it is signed. */
interface Request {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE"
  readonly url: string
  readonly body?: string
}

/** Somebody who calls: a key, and what stands in the headers beside it. */
export interface CallerCredentials {
  readonly key: string | null
  readonly headers?: (request: Request) => Record<string, string>
}

/** Callers of a company. Each is made once. */
export interface TestCallers {
  readonly company: Company
  /** Who may do whatever an owner may. */
  readonly owner: () => Promise<CallerCredentials>
  /** Somebody of a role, with nothing granted on top. */
  readonly withRole: (role: Role) => Promise<CallerCredentials>
  /** An owner's key that is granted everything but one operation. */
  readonly withoutOperation: (operation: Operation) => Promise<CallerCredentials>
  /** Somebody to whom every permission was granted but one. */
  readonly withoutPermission: (permission: Permission) => Promise<CallerCredentials>
  /** Somebody to whom everything was granted, and then one operation denied. */
  readonly withDeniedOperation: (operation: Operation) => Promise<CallerCredentials>
  /** A manager to whom every permission was granted: what is missing is the role. */
  readonly withInsufficientRole: () => Promise<CallerCredentials>
  readonly withPausedKey: () => Promise<CallerCredentials>
  readonly withDeletedKey: () => Promise<CallerCredentials>
  readonly withExhaustedLimit: () => Promise<CallerCredentials>
  /** The app's shared key, alone and with the sign-in of an owner or of a user. */
  readonly withAppKey: () => Promise<CallerCredentials>
  readonly signedIn: (role: "owner" | "user") => Promise<CallerCredentials>
  /** An owner of a company that was deleted. */
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
      once("of no rank", async () => keyOf(await person("manager", PERMISSIONS))),
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
    ofDeletedCompany: () => once("of deleted", () => deletedCompanyOwner(world)),
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
