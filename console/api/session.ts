import { useQuery } from "@tanstack/react-query"
import { createContext, useContext } from "react"
import { callConsole } from "./console-request.ts"
import { setServerTime } from "./clock.ts"
import { queryClient } from "./query-client.ts"
import { RequestError } from "./request-error.ts"

/** Somebody at one of their companies. */
export interface Profile {
  readonly companyId: string
  readonly company: string | null
  readonly personId: string
  readonly name: string | null
  readonly email: string | null
  readonly role: "owner" | "admin" | "developer" | "manager" | "user"
  readonly permissions: readonly string[]
  /** What a key of theirs can be granted. */
  readonly operations: readonly string[]
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
    const found = await callConsole<Session>("GET", "/api/session")
    setServerTime(found.now)
    return found.companies
  } catch (error) {
    if (error instanceof RequestError && error.code === "signed_out") return null
    throw error
  }
}

/** Has a code mailed; answers for how many minutes it is good. @throws Refused */
export function requestSignInCode(email: string): Promise<{ readonly minutes: number }> {
  return callConsole("POST", "/api/code", { email })
}

/** Signs in by a code; whoever was invited is called by `name` from then on. @throws Refused */
export async function signInWithCode(code: string, name: string): Promise<void> {
  await callConsole("POST", "/api/session", { code, ...(name === "" ? {} : { name }) })
  await queryClient.invalidateQueries({ queryKey: SESSION })
}

/** Signs out, and forgets all that was shown. @throws Refused */
export async function signOut(): Promise<void> {
  await callConsole("DELETE", "/api/session")
  // First the session, which the page looks at: then nothing else is shown any more.
  queryClient.setQueryData(SESSION, null)
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] })
}

/** The session is over: what is shown is the sign-in. */
export function clearSession(): void {
  queryClient.setQueryData(SESSION, null)
}

const ProfileContext = createContext<Profile | null>(null)

/** Gives the pages below who looks at them. */
export const ProfileProvider = ProfileContext.Provider

/** Who looks, at the company of the address. */
export function useMe(): Profile {
  const me = useContext(ProfileContext)
  if (me === null) throw new Error("this page is of no company")
  return me
}

/** Whether somebody is an owner or admin: they hold every permission. */
export function isAdmin({ role }: Pick<Profile, "role">): boolean {
  return role === "owner" || role === "admin"
}

/** Whether somebody holds a permission. */
export function hasPermission(
  me: Pick<Profile, "role" | "permissions">,
  permission: string,
): boolean {
  return isAdmin(me) || me.permissions.includes(permission)
}
