import { TextInput } from "@mantine/core"
import type { Invited, PersonList, PersonOfTeam } from "../api/answers.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { usePresences } from "../api/team.ts"
import { Action } from "../parts/action.tsx"
import { CopyAs, curlOf } from "../parts/copy-as.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { FormDialog } from "../parts/form-dialog.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Online } from "../parts/online.tsx"
import { NarrowLine } from "../parts/narrow-line.tsx"
import { NotYours } from "../parts/not-yours.tsx"
import { Page, Section } from "../parts/page.tsx"
import { usePermissions } from "../parts/permission-choice.tsx"
import { RoleChoice, roleText } from "../parts/role-choice.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { Time, Until } from "../parts/time.tsx"

/** The company's people, and who is invited. */
export default function Team() {
  if (useMay("person-list")) return <Everybody />
  return <NotYours title="Team" what="the team" permissions={["Team"]} />
}

function Everybody() {
  const list = useAnswer<PersonList>("person-list")
  return (
    <Page
      title="Team"
      says="Who belongs to the company, and what each may do."
      actions={
        <>
          <CopyAs what="curl" command={curlOf("/api/v1/people")} />
          <Invite />
        </>
      }
    >
      <Loaded of={list}>
        {({ people, invited }) => (
          <>
            <People people={people} />
            <Section title="Invited" says="They become people by signing in with that email.">
              <Invitations invited={invited} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  )
}

function People({ people }: { readonly people: readonly PersonOfTeam[] }) {
  const presences = usePresences()
  const every = usePermissions().length
  const columns: readonly Column<PersonOfTeam>[] = [
    {
      title: "Name",
      cell: ({ name, email, personId }) => name ?? email ?? personId,
      sortBy: ({ name }) => name ?? "",
    },
    {
      title: "Email",
      isWide: true,
      cell: ({ email }) => email ?? "–",
      sortBy: ({ email }) => email ?? "",
    },
    { title: "Role", cell: ({ role }) => roleText(role), sortBy: ({ role }) => role },
    {
      title: "Seen",
      cell: ({ personId }) => <Online presence={presences.get(personId)} />,
      sortBy: ({ personId }) => presences.get(personId)?.lastSeenAt ?? "",
    },
    {
      title: "Permissions",
      isNumber: true,
      isWide: true,
      cell: ({ permissions }) =>
        permissions.length === every ? "All" : `${permissions.length} of ${every}`,
      sortBy: ({ permissions }) => permissions.length,
    },
    {
      title: "Since",
      isWide: true,
      cell: ({ addedAt }) => <Time at={addedAt} />,
      sortBy: ({ addedAt }) => addedAt,
    },
  ]
  return (
    <DataTable
      {...{ label: "People", columns, rows: people }}
      rowKey={({ personId }) => personId}
      place={({ personId }) => ({ to: `team/${personId}` })}
      empty={<Empty title="Nobody" says="The people of the company are listed here." />}
    />
  )
}

type Values = { readonly email: string; readonly role: string }

function Invite() {
  return (
    <FormDialog<Values, unknown>
      operation="person-invite"
      label="Invite"
      title="Invite somebody"
      variant="filled"
      says="They get a mail, and have seven days to sign in here with that email. Permissions beside those of the role are given once they came."
      initial={{ email: "", role: "user" }}
      check={{
        email: (email) =>
          /^[^\s@]+@[^\s@]+$/.test(email.trim()) ? null : "An email, such as ada@example.com",
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
      does="Invite"
      done="The invitation is on its way."
    />
  )
}

function Invitations({ invited }: { readonly invited: readonly Invited[] }) {
  const commandFor = useShellCommand()
  const columns: readonly Column<Invited>[] = [
    {
      title: "Email",
      cell: ({ email, role }) => (
        <>
          {email ?? "–"}
          <NarrowLine>{roleText(role)}</NarrowLine>
        </>
      ),
    },
    { title: "Role", isWide: true, cell: ({ role }) => roleText(role) },
    { title: "Ends in", isWide: true, cell: ({ expiresAt }) => <Until at={expiresAt} /> },
    { title: "Change", isNumber: true, cell: (one) => <Invitation invited={one} /> },
  ]
  return (
    <DataTable
      {...{ label: "Invitations", columns, rows: invited }}
      rowKey={({ inviteId }) => inviteId}
      empty={
        <Empty
          title="Nobody is invited"
          says="Whoever was invited and has not come yet stands here, for seven days."
          command={commandFor("person invite", "--email ada@example.com --role developer")}
        />
      }
    />
  )
}

function Invitation({ invited }: { readonly invited: Invited }) {
  const { email, role, inviteId } = invited
  const who = email ?? inviteId
  return (
    <>
      {email === null ? null : (
        <Action
          operation="person-invite"
          input={{ email, role }}
          label="Invite again"
          variant="subtle"
          says={`${who} gets another mail, and has seven days from now on.`}
          done="The invitation is on its way."
        />
      )}
      <Action
        operation="person-uninvite"
        input={{ inviteId }}
        label="Withdraw"
        variant="subtle"
        isDangerous
        says={`${who} cannot become a person of the company by it any more. They can be invited again.`}
        done="The invitation was withdrawn."
      />
    </>
  )
}
