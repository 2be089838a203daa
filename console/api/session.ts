import { useQuery } from "@tanstack/react-query"
import { createContext, useContext } from "react"
import { callConsole } from "./console-request.ts"
import { setServerTime } from "./clock.ts"
import { queryClient } from "./query-client.ts"
import { RequestError } from "./request-error.ts"

export interface Profile {
  readonly companyId: string
  readonly company: string | null
  readonly personId: string
  readonly name: string | null
  readonly email: string | null
  readonly role: "owner" | "admin" | "developer" | "manager" | "user"
  readonly permissions: readonly string[]
  /** Operations that they can grant to their keys. */
  readonly operations: readonly string[]
  /** When the data of a deleted company is erased; null if not deleted. */
  readonly deleteDataAfter: string | null
}

interface Session {
  readonly now: string
  readonly companies: readonly Profile[]
}

const SESSION = ["session"]

/** The signed-in person's companies; `null` if signed out. */
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

/** Requests a sign-in code by mail; returns its lifetime in minutes. @throws RequestError */
export function requestSignInCode(email: string): Promise<{ readonly minutes: number }> {
  return callConsole("POST", "/api/code", { email })
}

/** Signs in with a code; `name` becomes the name of an invited person. @throws RequestError */
export async function signInWithCode(code: string, name: string): Promise<void> {
  await callConsole("POST", "/api/session", { code, ...(name === "" ? {} : { name }) })
  await queryClient.invalidateQueries({ queryKey: SESSION })
}

/** Signs out, and removes all cached data. @throws RequestError */
export async function signOut(): Promise<void> {
  await callConsole("DELETE", "/api/session")
  // The session first: pages watch it and stop showing data.
  queryClient.setQueryData(SESSION, null)
  queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== SESSION[0] })
}

/** Shows the sign-in page after the session has ended. */
export function clearSession(): void {
  queryClient.setQueryData(SESSION, null)
}

const ProfileContext = createContext<Profile | null>(null)

/** Provides the reader to the pages below. */
export const ProfileProvider = ProfileContext.Provider

/** The reader, at the company of the address. */
export function useMe(): Profile {
  const me = useContext(ProfileContext)
  if (me === null) throw new Error("this page has no company")
  return me
}

/** Whether a person is an owner or admin, and so has every permission. */
export function isAdmin({ role }: Pick<Profile, "role">): boolean {
  return role === "owner" || role === "admin"
}

/** Whether a person has a permission. */
export function hasPermission(
  me: Pick<Profile, "role" | "permissions">,
  permission: string,
): boolean {
  return isAdmin(me) || me.permissions.includes(permission)
}
