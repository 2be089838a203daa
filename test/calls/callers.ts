/** Callers of every kind, made as they are asked for, of one company. */
import type { Operation, Permission, Role } from "../../domain/access/permissions.ts"
import { ALL_OPERATIONS, PERMISSIONS } from "../../domain/access/permissions.ts"
import type { PersonId } from "../../domain/kernel/ids.ts"
import { signInHeaders } from "../access/signing.ts"
import type { Company, World } from "../support/world.ts"
import { addPerson, makeCompany, makeKey, setLimit } from "../support/world.ts"
import type { MadeKey } from "../support/company.ts"

/** A request as it is signed. */
interface Request {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE"
  readonly url: string
  readonly body?: string
}

/** Somebody who calls: a key, and what stands in the headers beside it. */
export interface Who {
  readonly key: string | null
  readonly headers?: (request: Request) => Record<string, string>
}

/** Callers of a company. Each is made once. */
export interface Callers {
  readonly company: Company
  /** Who may do whatever an owner may. */
  readonly owner: () => Promise<Who>
  /** Somebody of a role, with nothing granted on top. */
  readonly ofRole: (role: Role) => Promise<Who>
  /** An owner's key that is granted everything but one operation. */
  readonly without: (operation: Operation) => Promise<Who>
  /** Somebody to whom every permission was granted but one. */
  readonly lacking: (permission: Permission) => Promise<Who>
  /** Somebody to whom everything was granted, and then one operation denied. */
  readonly denied: (operation: Operation) => Promise<Who>
  /** A manager to whom every permission was granted: what is missing is the role. */
  readonly ofNoRank: () => Promise<Who>
  readonly paused: () => Promise<Who>
  readonly deleted: () => Promise<Who>
  readonly usedUp: () => Promise<Who>
  /** The app's shared key, alone and with the sign-in of an owner or of a user. */
  readonly shared: () => Promise<Who>
  readonly signedIn: (role: "owner" | "user") => Promise<Who>
  /** An owner of a company that was deleted. */
  readonly ofDeleted: () => Promise<Who>
}

/** Opens the callers of a company. */
export function callersOf(world: World, company: Company): Callers {
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
    ofRole: (role) => once(role, async () => keyOf(await person(role))),
    without: (operation) =>
      once(`without ${operation}`, () => {
        const others = ALL_OPERATIONS.filter((one) => one !== operation)
        return keyOf(company.ownerId, others)
      }),
    lacking: (permission) =>
      once(`lacking ${permission}`, async () => {
        const others = PERMISSIONS.filter((one) => one !== permission)
        return keyOf(await person("user", others))
      }),
    denied: (operation) =>
      once(`denied ${operation}`, async () => {
        const personId = await person("user", PERMISSIONS)
        await world.operate("person app", { personId, deny: [operation] })
        return keyOf(personId)
      }),
    ofNoRank: () => once("of no rank", async () => keyOf(await person("manager", PERMISSIONS))),
    paused: () => changed("key pause"),
    deleted: () => changed("key delete"),
    usedUp: () =>
      once("used up", async () => {
        const { key, keyId } = await keyOf(company.ownerId)
        await setLimit(world, company, { key: keyId, period: "day", dollars: "0" })
        return { key }
      }),
    shared: app,
    signedIn: async (role) => {
      const personId =
        role === "owner" ? company.ownerId : await once("signed in", () => person(role))
      return signedInAs(world, await app(), personId)
    },
    ofDeleted: () => once("of deleted", () => ownerOfDeleted(world)),
  }
}

function signedInAs(world: World, { key, appSecret }: MadeKey, personId: PersonId): Who {
  return {
    key,
    headers: (request) => {
      const time = new Date(world.ports.clock.now()).toISOString()
      return signInHeaders(appSecret, { ...request, personId, time })
    },
  }
}

async function ownerOfDeleted(world: World): Promise<Who> {
  const { companyId, key } = await makeCompany(world)
  await world.operate("company delete", { company: companyId })
  return { key }
}
