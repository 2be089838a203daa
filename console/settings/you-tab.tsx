import { Button, Group, TextInput } from "@mantine/core"
import { PERMISSION_DESCRIPTIONS } from "../api/permissions.ts"
import { queryClient } from "../api/query-client.ts"
import { useMe } from "../api/session.ts"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { OperationFormButton } from "../parts/operation-form-button.tsx"
import { Id } from "../parts/id.tsx"
import { signOutOrNotify } from "../parts/sign-out.ts"
import { Section } from "../parts/page-layout.tsx"
import { roleText } from "../parts/role-choice.tsx"

/** The reader's name and permissions, and signing out. */
export function YouTab() {
  const { personId, name, email, role, permissions } = useMe()
  return (
    <>
      <Section
        title={name ?? email ?? "You"}
        actions={
          <Group gap="xs">
            <ChangeName />
            <Button variant="default" onClick={() => void signOutOrNotify()}>
              Sign out
            </Button>
          </Group>
        }
      >
        <DetailList
          items={[
            ["Email", email],
            ["Role", roleText(role)],
            ["Id", <Id key="id" id={personId} />],
          ]}
        />
      </Section>
      <Section
        title="Your permissions"
        description="People with the permission Team can change them."
      >
        <DataTable
          label="Your permissions"
          rows={permissions}
          rowKey={(permission) => permission}
          columns={[
            { title: "Permission", cell: (permission) => permission },
            { title: "Allows", cell: (permission) => PERMISSION_DESCRIPTIONS[permission] ?? "" },
          ]}
          empty={
            <EmptyState
              title="No permissions yet"
              description="You see your own keys and their spending. Ask a person with the permission Team for more."
            />
          }
        />
      </Section>
    </>
  )
}

function ChangeName() {
  const { personId, name } = useMe()
  return (
    <OperationFormButton<{ name: string }, unknown>
      operation="person-change"
      isOwn
      label="Change your name"
      description="Other people of this company see this name."
      initialValues={{ name: name ?? "" }}
      validators={{ name: (text) => (text.trim() === "" ? "Enter a name" : null) }}
      inputOf={(values) => ({ personId, name: values.name.trim() })}
      fields={(form) => (
        <TextInput
          label="Name"
          data-autofocus
          autoComplete="name"
          {...form.getInputProps("name")}
        />
      )}
      submitLabel="Save"
      successMessage="Your name was changed."
      onDone={() => void queryClient.invalidateQueries({ queryKey: ["session"] })}
    />
  )
}
