import { Anchor, Stack, Text, Title } from "@mantine/core"
import { Link } from "@tanstack/react-router"

/** No page is at this address. */
export function NotFound() {
  return (
    <Stack p="md" gap="xs">
      <Title order={1}>There is no such page</Title>
      <Text size="sm">
        The address may be cut short, or of something that is gone.{" "}
        <Anchor inherit underline="always" renderRoot={(props) => <Link {...props} to="/" />}>
          To the overview
        </Anchor>
      </Text>
    </Stack>
  )
}
