import { Alert, Button, Group, Stack, Text } from "@mantine/core"
import type { ReactNode } from "react"
import { Refused } from "../api/refused.ts"
import { adviceOn } from "./advice.tsx"
import { Id } from "./id.tsx"
import { RefusalCard, refusalIn } from "./refusal-card.tsx"

interface FaultProps {
  readonly error: Error
  readonly onAgain?: () => void
  /** What to do about it, where the page knows more than the error. */
  readonly advice?: ReactNode
}

/** What went wrong: the server's words, the request's id, and what to do. */
export function Fault({ error, onAgain, advice }: FaultProps) {
  const refusal = error instanceof Refused ? refusalIn(error) : null
  if (refusal !== null) return <RefusalCard refusal={refusal} says={error.message} />
  const requestId = error instanceof Refused ? error.requestId : null
  return (
    <Alert color="red" variant="light" title={error.message} role="alert">
      <Stack gap="xs">
        <Text size="sm">{advice ?? adviceOn(error)}</Text>
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
