import { Center, Loader } from "@mantine/core"
import { Outlet } from "@tanstack/react-router"
import { useEffect } from "react"
import { asked } from "../api/queries.ts"
import { Refused } from "../api/refused.ts"
import { forgetSession, useSession } from "../api/session.ts"
import { Fault } from "../parts/fault.tsx"
import { SignIn } from "./sign-in.tsx"

/** All pages: for who is signed in; everybody else signs in first, and stays at the same address. */
export function SignedIn() {
  const session = useSession()
  useEffect(
    () =>
      asked.getQueryCache().subscribe(({ query }) => {
        const { error } = query.state
        if (error instanceof Refused && error.code === "signed_out") forgetSession()
      }),
    [],
  )
  if (session.data === null) return <SignIn />
  if (session.data !== undefined) return <Outlet />
  return (
    <Center h="100vh" p="md">
      {session.error === null ? (
        <Loader size="sm" aria-label="Loading" />
      ) : (
        <Fault error={session.error} onAgain={() => void session.refetch()} />
      )}
    </Center>
  )
}
