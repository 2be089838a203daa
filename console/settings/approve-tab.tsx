import { Alert, Code, List, Stack, Text, TextInput } from "@mantine/core"
import { useState } from "react"
import { APP_PERMISSIONS } from "../api/apps.ts"
import { useMe } from "../api/session.ts"
import { useFilters } from "../parts/filters.ts"
import { OperationFormButton } from "../parts/operation-form-button.tsx"
import { TextLink } from "../parts/link.tsx"
import { Section } from "../parts/page-layout.tsx"

interface Approved {
  readonly keyId: string
  readonly version: string
}

/** Connects an app that shows a code, after saying what it is given. */
export function ApproveTab() {
  const [{ code }] = useFilters()
  const [approved, setApproved] = useState<Approved | null>(null)
  return (
    <Section
      title="Approve an app"
      description="An app that is not connected yet shows a code. Who approves it, connects it to this company."
    >
      <Stack maw={560} align="flex-start">
        {approved === null ? null : (
          <Alert color="green" variant="light" title={`App ${approved.version} is connected`}>
            <Text size="sm">
              It has <TextLink to={`keys/${approved.keyId}`}>a key of yours</TextLink>. Deleting the
              key disconnects the app.
            </Text>
          </Alert>
        )}
        <GrantedPermissions />
        <ApproveButton code={code ?? ""} onApproved={setApproved} />
      </Stack>
    </Section>
  )
}

function GrantedPermissions() {
  return (
    <>
      <Text size="sm">
        The app gets a key of yours that may do these four things and nothing else:
      </Text>
      <List size="sm" spacing={4}>
        {APP_PERMISSIONS.map(([operation, says]) => (
          <List.Item key={operation}>
            {says} <Code>{operation}</Code>
          </List.Item>
        ))}
      </List>
    </>
  )
}

interface ApproveProps {
  /** The code that the address has, where a link led here. */
  readonly code: string
  readonly onApproved: (approved: Approved) => void
}

function ApproveButton({ code: found, onApproved }: ApproveProps) {
  const { personId } = useMe()
  return (
    <OperationFormButton<{ code: string }, Approved>
      operation="connect-approve"
      label="Enter the code"
      title="Approve an app"
      variant="filled"
      // An owner approves for themselves: that is all that is asked here.
      isOwn
      description={
        <>
          Look that the code is the one that <b>your</b> app shows: whoever shows it gets the key.
          It may see the company's name, plan and balance, and say how it runs.
        </>
      }
      initialValues={{ code: found }}
      validators={{
        code: (code) =>
          /^[A-Z2-9]{16}$/.test(code.toUpperCase().replaceAll(/[\s-]/g, ""))
            ? null
            : "16 letters and digits, such as ABCD-EFGH-JKMN-PQRS",
      }}
      inputOf={({ code }) => ({ code: code.trim(), person: personId })}
      fields={(form) => (
        <TextInput
          label="Code"
          data-autofocus
          autoComplete="off"
          ff="monospace"
          {...form.getInputProps("code")}
        />
      )}
      submitLabel="Approve"
      successMessage="The app is connected."
      onDone={onApproved}
    />
  )
}
