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

/** Connects an app by its code, after showing the permissions it gets. */
export function ApproveTab() {
  const [{ code }] = useFilters()
  const [approved, setApproved] = useState<Approved | null>(null)
  return (
    <Section
      title="Approve an app"
      description="A new app shows a code. Approve it to connect the app to this company."
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
      <Text size="sm">The app gets one of your keys with these four permissions only:</Text>
      <List size="sm" spacing={4}>
        {APP_PERMISSIONS.map(([operation, description]) => (
          <List.Item key={operation}>
            {description} <Code>{operation}</Code>
          </List.Item>
        ))}
      </List>
    </>
  )
}

interface ApproveProps {
  /** Code from the address, if a link led here. */
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
      // An owner approves for themselves.
      isOwn
      description={
        <>
          Check that the code is the one that <b>your</b> app shows: the app with this code gets the
          key. It can read the company's name, plan and balance, and report its status.
        </>
      }
      initialValues={{ code: found }}
      validators={{
        code: (code) =>
          /^[A-Z2-9]{16}$/.test(code.toUpperCase().replaceAll(/[\s-]/g, ""))
            ? null
            : "Must be 16 letters and digits, such as ABCD-EFGH-JKMN-PQRS",
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
