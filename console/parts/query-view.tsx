import { Skeleton, Stack } from "@mantine/core"
import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { ErrorAlert } from "./error-alert.tsx"

interface LoadedProps<T> {
  readonly query: Pick<UseQueryResult<T>, "data" | "error" | "refetch">
  readonly children: (found: T) => ReactNode
  readonly lines?: number
}

/** The result of a query: placeholder lines while it loads, or its error. */
export function QueryView<T>({ query, children, lines = 4 }: LoadedProps<T>) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error !== null)
    return <ErrorAlert error={query.error} onAgain={() => void query.refetch()} />
  return <Loading lines={lines} />
}

/** Placeholder lines. */
export function Loading({ lines = 4 }: { readonly lines?: number }) {
  return (
    <Stack gap="xs" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={line} height={18} animate={false} />
      ))}
    </Stack>
  )
}
