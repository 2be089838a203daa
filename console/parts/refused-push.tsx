import { Group, List, Stack, Text } from "@mantine/core"
import { RequestError } from "../api/request-error.ts"
import { ActionButton } from "./action-button.tsx"
import { ErrorAlert } from "./error-alert.tsx"

const FINGERPRINT = /\(fingerprint ([0-9a-f]{32})\)/

interface RefusedPushProps {
  /** Why, where, and what to do: as whoever pushed was told. */
  readonly lines: readonly string[]
}

/** Why a push was refused, and for each text in it that looks like a secret the way to let it through. */
export function RefusedPushDetails({ lines }: RefusedPushProps) {
  const isPlace = (line: string): boolean => line.startsWith("  ")
  return (
    <Stack gap="xs" role="group" aria-label="A refused push">
      {lines
        .filter((line, at) => !isPlace(line) && at === 0)
        .map((line) => (
          <Text key={line} size="sm" fw={500}>
            {line}
          </Text>
        ))}
      <List size="sm" spacing={6} listStyleType="none">
        {lines.filter(isPlace).map((line) => (
          <List.Item key={line}>
            <LocationLine line={line.trim()} />
          </List.Item>
        ))}
      </List>
      {lines
        .filter((line, at) => !isPlace(line) && at > 0)
        .map((line) => (
          <Text key={line} size="sm" c="dimmed">
            {line}
          </Text>
        ))}
    </Stack>
  )
}

function LocationLine({ line }: { readonly line: string }) {
  const [, fingerprint] = FINGERPRINT.exec(line) ?? []
  return (
    <Group gap="xs">
      <Text size="sm" component="span">
        {line.replace(FINGERPRINT, "").trim()}
      </Text>
      {fingerprint === undefined ? null : (
        <ActionButton
          operation="repository-allow-secret"
          input={{ fingerprint }}
          label="Let it through"
          variant="subtle"
          description={
            <>
              This very text is taken in pushes from now on: {line.replace(FINGERPRINT, "").trim()}.
              Do so only where it is no secret, such as an example. The reason stays in the ledger.
            </>
          }
          successMessage="It is let through. Push or upload again."
        />
      )}
    </Group>
  )
}

/** What was refused of code that was sent: place by place, or as any fault. */
export function RefusedCodeError({ error }: { readonly error: Error }) {
  if (!(error instanceof RequestError) || error.code !== "push_refused")
    return <ErrorAlert error={error} />
  return <RefusedPushDetails lines={error.message.split("\n")} />
}
