import { Code, Group, Text, TextInput } from "@mantine/core"
import { useNavigate, useParams } from "@tanstack/react-router"
import type { Key, KeyList, PersonList, TeamMember } from "../api/answers.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { PERMISSION_DESCRIPTIONS, ROLE_DESCRIPTIONS, roleDenialReason } from "../api/permissions.ts"
import type { Profile } from "../api/session.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { accessChange, useOnlineStatuses } from "../api/team.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { OperationFormButton } from "../parts/operation-form-button.tsx"
import { Id } from "../parts/id.tsx"
import { KeyStatusBadge } from "../parts/key-status.tsx"
import { TextLink, usePagePath } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { OnlineStatusBadge } from "../parts/online-status.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { PermissionChoice, usePermissions } from "../parts/permission-choice.tsx"
import { RoleChoice, roleText } from "../parts/role-choice.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import type { Tone } from "../parts/status-badge.tsx"
import { StatusBadge } from "../parts/status-badge.tsx"
import { Time } from "../parts/time.tsx"

/** A person: details, permissions, keys and actions. */
export default function PersonPage() {
  const { personId } = useParams({ strict: false })
  const list = useOperationQuery<PersonList>("person-list")
  return (
    <QueryView query={list}>
      {({ people }) => {
        const found = people.find((one) => one.personId === personId)
        return found === undefined ? (
          <EmptyState
            title="No such person"
            description="They may have been removed, or never belonged to this company."
          />
        ) : (
          <PersonContent found={found} />
        )
      }}
    </QueryView>
  )
}

function PersonContent({ found }: { readonly found: TeamMember }) {
  const { personId, name, email, role, addedAt } = found
  const me = useMe()
  const presence = useOnlineStatuses().get(personId)
  const denialReason = roleDenialReason(me, role)
  return (
    <PageLayout
      title={name ?? email ?? personId}
      description={denialReason === null ? <Id id={personId} /> : `${denialReason}.`}
      actions={denialReason === null ? <Actions found={found} /> : undefined}
    >
      <DetailList
        items={[
          ["Role", roleText(role)],
          ["Email", email],
          ["Seen", <OnlineStatusBadge key="seen" presence={presence} />],
          ["Since", <Time key="since" at={addedAt} isWhole />],
          [
            "Spending",
            <TextLink key="spending" to="spending" search={{ person: personId }}>
              Show their charges
            </TextLink>,
          ],
          [
            "Refusals",
            <TextLink key="refusals" to="refusals" search={{ person: personId }}>
              Show their refusals
            </TextLink>,
          ],
        ]}
      />
      <Permissions found={found} />
      <Keys personId={personId} />
    </PageLayout>
  )
}

interface PermissionState {
  readonly name: string
  readonly tone: Tone
  readonly word: string
}

function permissionStateOf(
  { permissions, rolePermissions, deny }: TeamMember,
  name: string,
): PermissionState {
  if (deny.includes(name)) return { name, tone: "bad", word: "Denied" }
  if (!permissions.includes(name)) return { name, tone: "quiet", word: "No" }
  return { name, tone: "good", word: rolePermissions.includes(name) ? "From the role" : "Given" }
}

function Permissions({ found }: { readonly found: TeamMember }) {
  const every = usePermissions()
  const { role, grant, deny } = found
  const single = (names: readonly string[]) => names.filter((name) => !every.includes(name))
  return (
    <Section title="Access" description={ROLE_DESCRIPTIONS[role as Profile["role"]]}>
      <DataTable
        label="Permissions"
        rows={every.map((name) => permissionStateOf(found, name))}
        rowKey={({ name }) => name}
        columns={[
          { title: "Permission", cell: ({ name }) => name },
          {
            title: "Allows",
            isHiddenOnNarrow: true,
            cell: ({ name }) => PERMISSION_DESCRIPTIONS[name] ?? "",
          },
          {
            title: "Status",
            cell: ({ tone, word }) => <StatusBadge tone={tone}>{word}</StatusBadge>,
          },
        ]}
        empty={null}
      />
      <SingleOperations title="Also allowed" names={single(grant)} />
      <SingleOperations title="Denied" names={single(deny)} />
    </Section>
  )
}

/** Operations that were granted or denied individually. */
function SingleOperations({
  title,
  names,
}: {
  readonly title: string
  readonly names: readonly string[]
}) {
  if (names.length === 0) return null
  return (
    <Group gap={4} mt="sm">
      <Text size="sm">{title}</Text>
      {names.map((name) => (
        <Code key={name}>{name}</Code>
      ))}
    </Group>
  )
}

function Keys({ personId }: { readonly personId: string }) {
  const may = useCanRun("key-list")
  const commandFor = useShellCommand()
  const keys = useOperationQuery<KeyList>("key-list", { person: personId }, may)
  if (!may) return null
  return (
    <Section title="Keys">
      <QueryView query={keys}>
        {(list) => (
          <DataTable<Key>
            label="Keys"
            rows={list.keys}
            rowKey={({ keyId }) => keyId}
            place={({ keyId }) => ({ to: `keys/${keyId}` })}
            columns={[
              { title: "Name", cell: ({ label, keyId }) => label ?? keyId },
              { title: "Id", isHiddenOnNarrow: true, cell: ({ keyId }) => <Id id={keyId} /> },
              { title: "Status", cell: ({ status }) => <KeyStatusBadge status={status} /> },
              {
                title: "Created",
                isHiddenOnNarrow: true,
                cell: ({ createdAt }) => <Time at={createdAt} />,
              },
            ]}
            empty={
              <EmptyState
                title="No keys"
                description="A key calls the API with this person's permissions, and its spending counts for them."
                command={commandFor("key create", `--person ${personId} --all-operations`)}
              />
            }
          />
        )}
      </QueryView>
    </Section>
  )
}

function Actions({ found }: { readonly found: TeamMember }) {
  const { personId, name, email, role } = found
  const navigate = useNavigate()
  const pathOf = usePagePath()
  return (
    <>
      <ActionButton
        operation="person-remove"
        input={{ personId }}
        confirmationText={name ?? email ?? personId}
        label="Remove"
        description="Signs them out immediately and deletes their keys for good. Their charges stay in the ledger."
        successMessage="The person was removed."
        isDangerous
        onDone={() => void navigate({ to: pathOf("team") })}
      />
      {role === "owner" || role === "admin" ? null : <ChangeAccess found={found} />}
      <ChangePerson found={found} />
    </>
  )
}

function ChangeAccess({ found }: { readonly found: TeamMember }) {
  const { personId, permissions, rolePermissions } = found
  const me = useMe()
  // People cannot change their own permissions.
  if (personId === me.personId && !isAdmin(me)) return null
  return (
    <OperationFormButton<{ chosen: readonly string[] }, unknown>
      operation="person-app"
      label="Permissions"
      title="Permissions"
      description="Applies from the next call, to them and their keys."
      initialValues={{ chosen: permissions }}
      inputOf={({ chosen }) => ({ personId, ...accessChange(found, chosen) })}
      fields={(form) => (
        <PermissionChoice
          held={permissions}
          rolePermissions={rolePermissions}
          chosen={form.values.chosen}
          onChoose={(chosen) => form.setFieldValue("chosen", chosen)}
        />
      )}
      submitLabel="Save"
      successMessage="Their permissions were changed."
    />
  )
}

type Values = { readonly name: string; readonly email: string; readonly role: string }

function ChangePerson({ found }: { readonly found: TeamMember }) {
  const { personId } = found
  const me = useMe()
  const former: Values = { name: found.name ?? "", email: found.email ?? "", role: found.role }
  const changed = (name: keyof Values, value: string) =>
    value === former[name] ? undefined : value
  const isOwnRoleLocked = personId === me.personId && !isAdmin(me)
  return (
    <OperationFormButton<Values, unknown>
      operation="person-change"
      label="Change"
      title="Change the person"
      variant="filled"
      isOwn={personId === me.personId}
      description="A new role ends their session: they must sign in again."
      initialValues={former}
      validators={{
        name: (name, all) => {
          if (name.trim() === "") return "Enter a name"
          const names = Object.keys(former) as (keyof Values)[]
          return names.every((one) => all[one] === former[one]) ? "Nothing has changed yet" : null
        },
        email: (email) =>
          /^[^\s@]+@[^\s@]+$/.test(email.trim())
            ? null
            : "Must be an email address, such as ada@example.com",
      }}
      inputOf={({ name, email, role }) => ({
        personId,
        name: changed("name", name.trim()),
        email: changed("email", email.trim()),
        role: changed("role", role),
      })}
      fields={(form) => (
        <>
          <TextInput label="Name" data-autofocus {...form.getInputProps("name")} />
          <TextInput label="Email" description="Used to sign in" {...form.getInputProps("email")} />
          {isOwnRoleLocked ? null : (
            <RoleChoice
              value={form.values.role}
              onChange={(role) => form.setFieldValue("role", role)}
            />
          )}
        </>
      )}
      submitLabel="Save"
      successMessage="The person was changed."
    />
  )
}
