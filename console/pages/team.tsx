import { TextInput } from "@mantine/core"
import type { Invitation, PersonList, TeamMember } from "../api/answers.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { useOnlineStatuses } from "../api/team.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { CopyCommandButton, curlOf } from "../parts/copy-command.tsx"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { OperationFormButton } from "../parts/operation-form-button.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { OnlineStatusBadge } from "../parts/online-status.tsx"
import { NarrowLine } from "../parts/narrow-line.tsx"
import { NoPermission } from "../parts/no-permission.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { usePermissions } from "../parts/permission-choice.tsx"
import { RoleChoice, roleText } from "../parts/role-choice.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { Time, TimeUntil } from "../parts/time.tsx"

/** The company's people and invitations. */
export default function TeamPage() {
  if (useCanRun("person-list")) return <TeamContent />
  return <NoPermission title="Team" what="the team" permissions={["Team"]} />
}

function TeamContent() {
  const list = useOperationQuery<PersonList>("person-list")
  return (
    <PageLayout
      title="Team"
      description="The people of the company, with their roles and permissions."
      actions={
        <>
          <CopyCommandButton what="curl" command={curlOf("/api/v1/people")} />
          <Invite />
        </>
      }
    >
      <QueryView query={list}>
        {({ people, invited }) => (
          <>
            <People people={people} />
            <Section title="Invited" description="They join by signing in with the invited email.">
              <Invitations invited={invited} />
            </Section>
          </>
        )}
      </QueryView>
    </PageLayout>
  )
}

function People({ people }: { readonly people: readonly TeamMember[] }) {
  const presences = useOnlineStatuses()
  const every = usePermissions().length
  const columns: readonly TableColumn<TeamMember>[] = [
    {
      title: "Name",
      cell: ({ name, email, personId }) => name ?? email ?? personId,
      sortBy: ({ name }) => name ?? "",
    },
    {
      title: "Email",
      isHiddenOnNarrow: true,
      cell: ({ email }) => email ?? "–",
      sortBy: ({ email }) => email ?? "",
    },
    { title: "Role", cell: ({ role }) => roleText(role), sortBy: ({ role }) => role },
    {
      title: "Seen",
      cell: ({ personId }) => <OnlineStatusBadge presence={presences.get(personId)} />,
      sortBy: ({ personId }) => presences.get(personId)?.lastSeenAt ?? "",
    },
    {
      title: "Permissions",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ permissions }) =>
        permissions.length === every ? "All" : `${permissions.length} of ${every}`,
      sortBy: ({ permissions }) => permissions.length,
    },
    {
      title: "Since",
      isHiddenOnNarrow: true,
      cell: ({ addedAt }) => <Time at={addedAt} />,
      sortBy: ({ addedAt }) => addedAt,
    },
  ]
  return (
    <DataTable
      label="People"
      columns={columns}
      rows={people}
      rowKey={({ personId }) => personId}
      place={({ personId }) => ({ to: `team/${personId}` })}
      empty={<EmptyState title="No people" description="The people of the company appear here." />}
    />
  )
}

type Values = { readonly email: string; readonly role: string }

function Invite() {
  return (
    <OperationFormButton<Values, unknown>
      operation="person-invite"
      label="Invite"
      title="Invite a person"
      variant="filled"
      description="They get a mail, and have seven days to sign in with that email. You can give more permissions after they have joined."
      initialValues={{ email: "", role: "user" }}
      validators={{
        email: (email) =>
          /^[^\s@]+@[^\s@]+$/.test(email.trim())
            ? null
            : "Must be an email address, such as ada@example.com",
      }}
      inputOf={({ email, role }) => ({ email: email.trim(), role })}
      fields={(form) => (
        <>
          <TextInput
            label="Email"
            type="email"
            data-autofocus
            autoComplete="off"
            {...form.getInputProps("email")}
          />
          <RoleChoice
            value={form.values.role}
            onChange={(role) => form.setFieldValue("role", role)}
          />
        </>
      )}
      submitLabel="Invite"
      successMessage="The invitation was sent."
    />
  )
}

function Invitations({ invited }: { readonly invited: readonly Invitation[] }) {
  const commandFor = useShellCommand()
  const columns: readonly TableColumn<Invitation>[] = [
    {
      title: "Email",
      cell: ({ email, role }) => (
        <>
          {email ?? "–"}
          <NarrowLine>{roleText(role)}</NarrowLine>
        </>
      ),
    },
    { title: "Role", isHiddenOnNarrow: true, cell: ({ role }) => roleText(role) },
    {
      title: "Expires in",
      isHiddenOnNarrow: true,
      cell: ({ expiresAt }) => <TimeUntil at={expiresAt} />,
    },
    { title: "Change", isNumber: true, cell: (one) => <InvitationActions invited={one} /> },
  ]
  return (
    <DataTable
      label="Invitations"
      columns={columns}
      rows={invited}
      rowKey={({ inviteId }) => inviteId}
      empty={
        <EmptyState
          title="No invitations"
          description="Open invitations appear here for seven days."
          command={commandFor("person invite", "--email ada@example.com --role developer")}
        />
      }
    />
  )
}

function InvitationActions({ invited }: { readonly invited: Invitation }) {
  const { email, role, inviteId } = invited
  const who = email ?? inviteId
  return (
    <>
      {email === null ? null : (
        <ActionButton
          operation="person-invite"
          input={{ email, role }}
          label="Invite again"
          variant="subtle"
          description={`${who} gets another mail, and has seven days from now.`}
          successMessage="The invitation was sent."
        />
      )}
      <ActionButton
        operation="person-uninvite"
        input={{ inviteId }}
        label="Withdraw"
        variant="subtle"
        isDangerous
        description={`${who} can no longer join with this invitation. You can invite them again.`}
        successMessage="The invitation was withdrawn."
      />
    </>
  )
}
