import { Anchor, Stack, Text, Title } from "@mantine/core"
import { Link } from "@tanstack/react-router"

/** The page for an unknown address. */
export function NotFound() {
  return (
    <Stack p="md" gap="xs">
      <Title order={1}>Page not found</Title>
      <Text size="sm">
        The address may be incomplete, or the page was removed.{" "}
        <Anchor inherit underline="always" renderRoot={(props) => <Link {...props} to="/" />}>
          Go to the overview
        </Anchor>
      </Text>
    </Stack>
  )
}
