import { Text } from "@mantine/core"
import type { ReactNode } from "react"

/** A second line of a cell, on a narrow screen, for what has a column of its own on a wide one. */
export function NarrowLine({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="xs" c="dimmed" hiddenFrom="sm">
      {children}
    </Text>
  )
}
