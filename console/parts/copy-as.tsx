import { Button, CopyButton } from "@mantine/core"
import { CommandIcon } from "./icons.tsx"

interface CopyAsProps {
  /** The curl or command that does the same. */
  readonly command: string
  readonly what?: "curl" | "command"
}

/** Copies what does the same from a shell. */
export function CopyAs({ command, what = "command" }: CopyAsProps) {
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

/** The curl of a call of the API; a GET where no method is said. */
export function curlOf(path: string, method = "GET", body?: object): string {
  const how = method === "GET" ? "" : ` -X ${method}`
  const what =
    body === undefined
      ? ""
      : ` -H 'Content-Type: application/json' -d '${JSON.stringify(body).replaceAll("'", String.raw`'\\''`)}'`
  return `curl -s${how} '${window.location.origin}${path}' -H "Authorization: Bearer $KEY"${what}`
}
