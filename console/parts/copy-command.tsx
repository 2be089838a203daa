import { Button, CopyButton } from "@mantine/core"
import type { ApiChange } from "../api/api-change.ts"
import { CommandIcon } from "./icons.tsx"

interface CopyAsProps {
  readonly command: string
  readonly what?: "curl" | "command"
}

/** A button that copies the equivalent call or command for a shell. */
export function CopyCommandButton({ command, what = "command" }: CopyAsProps) {
  return (
    <CopyButton value={command}>
      {({ copied, copy }) => (
        <Button
          variant="subtle"
          color="gray"
          fw={400}
          size="compact-sm"
          leftSection={<CommandIcon />}
          onClick={copy}
        >
          {copied ? "Copied" : `Copy as ${what}`}
        </Button>
      )}
    </CopyButton>
  )
}

/** The curl call of a GET request to the API. */
export function curlOf(path: string): string {
  return `curl -s '${window.location.origin}${path}' -H "Authorization: Bearer $KEY"`
}

/** The curl call of a change. */
export function curlOfChange({ method, path, body }: ApiChange): string {
  const base = `curl -s -X ${method} '${window.location.origin}${path}' -H "Authorization: Bearer $KEY"`
  if (body === undefined) return base
  const text = JSON.stringify(body).replaceAll("'", String.raw`'\''`)
  return `${base} -H 'Content-Type: application/json' -d '${text}'`
}
