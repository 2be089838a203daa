import { Center, Loader } from "@mantine/core"
import { Outlet } from "@tanstack/react-router"
import { useEffect } from "react"
import { queryClient } from "../api/query-client.ts"
import { RequestError } from "../api/request-error.ts"
import { clearSession, useSession } from "../api/session.ts"
import { ErrorAlert } from "../parts/error-alert.tsx"
import { SignInView } from "./sign-in.tsx"

/** Shows pages to signed-in people; others sign in first, and stay at the same address. */
export function RequireSignIn() {
  const session = useSession()
  useEffect(
    () =>
      queryClient.getQueryCache().subscribe(({ query }) => {
        const { error } = query.state
        if (error instanceof RequestError && error.code === "signed_out") clearSession()
      }),
    [],
  )
  if (session.data === null) return <SignInView />
  if (session.data !== undefined) return <Outlet />
  return (
    <Center h="100vh" p="md">
      {session.error === null ? (
        <Loader size="sm" aria-label="Loading" />
      ) : (
        <ErrorAlert error={session.error} onAgain={() => void session.refetch()} />
      )}
    </Center>
  )
}
