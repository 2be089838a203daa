import { Skeleton, Stack } from "@mantine/core"
import type { UseQueryResult } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { Fault } from "./fault.tsx"

interface LoadedProps<T> {
  readonly of: Pick<UseQueryResult<T>, "data" | "error" | "refetch">
  readonly children: (found: T) => ReactNode
  /** So many lines stand in until it is there. */
  readonly lines?: number
}

/** What was asked for: lines until it is there, the fault where it does not come. */
export function Loaded<T>({ of, children, lines = 4 }: LoadedProps<T>) {
  if (of.data !== undefined) return <>{children(of.data)}</>
  if (of.error !== null) return <Fault error={of.error} onAgain={() => void of.refetch()} />
  return <Loading lines={lines} />
}

/** Lines where something will stand. */
export function Loading({ lines = 4 }: { readonly lines?: number }) {
  return (
    <Stack gap="xs" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={line} height={18} animate={false} />
      ))}
    </Stack>
  )
}
