import { SimpleGrid, Stack, Text } from "@mantine/core"
import type { ReactNode } from "react"

/** Labeled values of one object. */
export function DetailList({
  items,
}: {
  readonly items: readonly (readonly [string, ReactNode])[]
}) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md" verticalSpacing="md">
      {items.map(([word, value]) => (
        <Stack key={word} gap={0} miw={0}>
          <Text size="sm" c="dimmed">
            {word}
          </Text>
          <Text size="sm" component="div">
            {value ?? "–"}
          </Text>
        </Stack>
      ))}
    </SimpleGrid>
  )
}
