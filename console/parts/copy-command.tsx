import { Button, CopyButton } from "@mantine/core"
import type { ApiChange } from "../api/api-change.ts"
import { CommandIcon } from "./icons.tsx"

interface CopyAsProps {
  /** The curl or command that does the same. */
  readonly command: string
  readonly what?: "curl" | "command"
}

/** Copies what does the same from a shell. */
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

/** The curl of a GET of the API. */
export function curlOf(path: string): string {
  return `curl -s '${window.location.origin}${path}' -H "Authorization: Bearer $KEY"`
}

/** The curl of a change by the API. */
export function curlOfChange({ method, path, body }: ApiChange): string {
  const base = `curl -s -X ${method} '${window.location.origin}${path}' -H "Authorization: Bearer $KEY"`
  if (body === undefined) return base
  const text = JSON.stringify(body).replaceAll("'", String.raw`'\''`)
  return `${base} -H 'Content-Type: application/json' -d '${text}'`
}
