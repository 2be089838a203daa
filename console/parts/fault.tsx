import { Alert, Button, Group, Stack, Text } from "@mantine/core"
import { Refused } from "../api/refused.ts"
import { Id } from "./id.tsx"
import { RefusalCard, refusalIn } from "./refusal-card.tsx"

/** What to do about an error, in a sentence. */
function adviceOn(error: Error): string {
  if (!(error instanceof Refused)) return "Load the page again; what was typed elsewhere is kept."
  if (error.retryAfter !== null) return `Try again in ${error.retryAfter} seconds.`
  if (error.status === 0) return "Look whether you are online, then try again."
  if (error.status === 401) return "Sign in again: the session is over."
  if (error.status === 403) return "An owner or admin of the company can do this, or let you."
  if (error.status === 404) return "It may have been removed meanwhile: go back to its list."
  if (error.status === 409) return "Look how things stand now, then decide again."
  if (error.status === 400 || error.status === 422) return "Change what the message names."
  return "Try again. If it goes on, hand the request's id to whoever runs the installation."
}

interface FaultProps {
  readonly error: Error
  readonly onAgain?: () => void
}

/** What went wrong: the server's words, the request's id, and what to do. */
export function Fault({ error, onAgain }: FaultProps) {
  const refusal = error instanceof Refused ? refusalIn(error) : null
  if (refusal !== null) return <RefusalCard refusal={refusal} says={error.message} />
  const requestId = error instanceof Refused ? error.requestId : null
  return (
    <Alert color="red" variant="light" title={error.message} role="alert">
      <Stack gap="xs">
        <Text size="sm">{adviceOn(error)}</Text>
        <Group gap="md">
          {requestId === null ? null : (
            <Text size="sm" component="span">
              Request <Id id={requestId} />
            </Text>
          )}
          {onAgain === undefined ? null : (
            <Button size="xs" variant="default" onClick={onAgain}>
              Try again
            </Button>
          )}
        </Group>
      </Stack>
    </Alert>
  )
}
