import { Alert, Button, Group, Stack, Text } from "@mantine/core"
import type { ReactNode } from "react"
import { RequestError } from "../api/request-error.ts"
import { errorAdvice } from "./error-advice.tsx"
import { Id } from "./id.tsx"
import { RefusalCard, refusalFromError } from "./refusal-card.tsx"

interface ErrorAlertProps {
  readonly error: Error
  readonly onAgain?: () => void
  /** Advice of the page, if it knows more than the error. */
  readonly advice?: ReactNode
}

/** An error: the server's message, the request id, and advice. */
export function ErrorAlert({ error, onAgain, advice }: ErrorAlertProps) {
  const refusal = error instanceof RequestError ? refusalFromError(error) : null
  if (refusal !== null) return <RefusalCard refusal={refusal} message={error.message} />
  const requestId = error instanceof RequestError ? error.requestId : null
  return (
    <Alert color="red" variant="light" title={error.message} role="alert">
      <Stack gap="xs">
        <Text size="sm">{advice ?? errorAdvice(error)}</Text>
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
