import { useQuery } from "@tanstack/react-query"
import { createContext, useContext } from "react"
import { call } from "./call.ts"
import { setServerTime } from "./clock.ts"
import { asked } from "./queries.ts"
import { Refused } from "./refused.ts"

/** Somebody at one of their companies. */
export interface Profile {
  readonly companyId: string
  readonly company: string | null
  readonly personId: string
  readonly name: string | null
  readonly email: string | null
  readonly role: "owner" | "admin" | "developer" | "manager" | "user"
  readonly permissions: readonly string[]
  /** When the data goes, where the company was deleted. */
  readonly deleteDataAfter: string | null
}

interface Session {
  readonly now: string
  readonly companies: readonly Profile[]
}

const SESSION = ["session"]

/** Who is signed in; `null` for nobody. */
export function useSession() {
  return useQuery({ queryKey: SESSION, queryFn: readSession, staleTime: 60_000 })
}

async function readSession(): Promise<readonly Profile[] | null> {
  try {
    const found = await call<Session>("GET", "/api/session")
    setServerTime(found.now)
    return found.companies
  } catch (error) {
    if (error instanceof Refused && error.code === "signed_out") return null
    throw error
  }
}

/** Has a code mailed; answers for how many minutes it is good. @throws Refused */
export function askCode(email: string): Promise<{ readonly minutes: number }> {
  return call("POST", "/api/code", { email })
}

/** Signs in by a code. @throws Refused */
export async function enterCode(code: string): Promise<void> {
  await call("POST", "/api/session", { code })
  await asked.invalidateQueries({ queryKey: SESSION })
}

/** Signs out, and forgets all that was shown. @throws Refused */
export async function signOut(): Promise<void> {
  await call("DELETE", "/api/session")
  // First the session, which the page looks at: then nothing else is shown any more.
  asked.setQueryData(SESSION, null)
  asked.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] })
}

/** The session is over: what is shown is the sign-in. */
export function forgetSession(): void {
  asked.setQueryData(SESSION, null)
}

const AtCompany = createContext<Profile | null>(null)

/** Gives the pages below who looks at them. */
export const ProfileProvider = AtCompany.Provider

/** Who looks, at the company of the address. */
export function useMe(): Profile {
  const me = useContext(AtCompany)
  if (me === null) throw new Error("this page is of no company")
  return me
}

/** Whether somebody is an owner or admin: they hold every permission. */
export function isAdmin({ role }: Pick<Profile, "role">): boolean {
  return role === "owner" || role === "admin"
}

/** Whether somebody holds a permission. */
export function holds(me: Pick<Profile, "role" | "permissions">, permission: string): boolean {
  return isAdmin(me) || me.permissions.includes(permission)
}
