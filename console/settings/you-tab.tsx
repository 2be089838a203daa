import { Button, Group, TextInput } from "@mantine/core"
import { PERMISSION_WORDS } from "../api/permissions.ts"
import { asked } from "../api/queries.ts"
import { useMe } from "../api/session.ts"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { Facts } from "../parts/facts.tsx"
import { FormDialog } from "../parts/form-dialog.tsx"
import { Id } from "../parts/id.tsx"
import { leave } from "../parts/leave.ts"
import { Section } from "../parts/page.tsx"
import { roleText } from "../parts/role-choice.tsx"

/** The reader: their name, what they may, and signing out. */
export function YouTab() {
  const { personId, name, email, role, permissions } = useMe()
  return (
    <>
      <Section
        title={name ?? email ?? "You"}
        actions={
          <Group gap="xs">
            <ChangeName />
            <Button variant="default" onClick={() => void leave()}>
              Sign out
            </Button>
          </Group>
        }
      >
        <Facts
          of={[
            ["Email", email],
            ["Role", roleText(role)],
            ["Id", <Id key="id" id={personId} />],
          ]}
        />
      </Section>
      <Section title="What you may" says="Changed by those with the permission Team.">
        <DataTable
          label="What you may"
          rows={permissions}
          rowKey={(permission) => permission}
          columns={[
            { title: "Permission", cell: (permission) => permission },
            { title: "Allows", cell: (permission) => PERMISSION_WORDS[permission] ?? "" },
          ]}
          empty={
            <Empty
              title="No permission yet"
              says="You see your own keys and what they spend. Whoever has the permission Team can give you more."
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
    <FormDialog<{ name: string }, unknown>
      operation="person-change"
      isOwn
      label="Change your name"
      says="It is what the others of this company see."
      initial={{ name: name ?? "" }}
      check={{ name: (text) => (text.trim() === "" ? "A name" : null) }}
      inputOf={(values) => ({ personId, name: values.name.trim() })}
      fields={(form) => (
        <TextInput
          label="Name"
          data-autofocus
          autoComplete="name"
          {...form.getInputProps("name")}
        />
      )}
      does="Save"
      done="Your name was changed."
      onDone={() => void asked.invalidateQueries({ queryKey: ["session"] })}
    />
  )
}
