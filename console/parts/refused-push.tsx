import { Group, List, Stack, Text } from "@mantine/core"
import { RequestError } from "../api/request-error.ts"
import { ActionButton } from "./action-button.tsx"
import { ErrorAlert } from "./error-alert.tsx"

const FINGERPRINT = /\(fingerprint ([0-9a-f]{32})\)/

interface RefusedPushProps {
  /** Message lines of the refusal: reason, locations and advice. */
  readonly lines: readonly string[]
}

/** Why a push was refused, with a button to allow each apparent secret. */
export function RefusedPushDetails({ lines }: RefusedPushProps) {
  const isLocation = (line: string): boolean => line.startsWith("  ")
  return (
    <Stack gap="xs" role="group" aria-label="Refused push">
      {lines
        .filter((line, at) => !isLocation(line) && at === 0)
        .map((line) => (
          <Text key={line} size="sm" fw={500}>
            {line}
          </Text>
        ))}
      <List size="sm" spacing={6} listStyleType="none">
        {lines.filter(isLocation).map((line) => (
          <List.Item key={line}>
            <LocationLine line={line.trim()} />
          </List.Item>
        ))}
      </List>
      {lines
        .filter((line, at) => !isLocation(line) && at > 0)
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
          label="Allow"
          variant="subtle"
          description={
            <>
              Pushes with this exact text are accepted from now on:{" "}
              {line.replace(FINGERPRINT, "").trim()}. Allow it only if it is not a secret, for
              example a sample. The reason is stored in the ledger.
            </>
          }
          successMessage="The text is allowed. Push or upload again."
        />
      )}
    </Group>
  )
}

/** An error of a push or upload: the locations of a refusal, or any other error. */
export function RefusedCodeError({ error }: { readonly error: Error }) {
  if (!(error instanceof RequestError) || error.code !== "push_refused")
    return <ErrorAlert error={error} />
  return <RefusedPushDetails lines={error.message.split("\n")} />
}
