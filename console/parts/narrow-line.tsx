import { Text } from "@mantine/core"
import type { ReactNode } from "react"

/** A second line of a cell on narrow screens, for the value of a hidden column. */
export function NarrowLine({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="xs" c="dimmed" hiddenFrom="sm">
      {children}
    </Text>
  )
}
