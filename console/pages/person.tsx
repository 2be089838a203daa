import { Code, Group, Text, TextInput } from "@mantine/core"
import { useNavigate, useParams } from "@tanstack/react-router"
import type { Key, KeyList, PersonList, PersonOfTeam } from "../api/answers.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { PERMISSION_WORDS, ROLE_WORDS, barOfRole } from "../api/permissions.ts"
import type { Profile } from "../api/session.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { accessChange, usePresences } from "../api/team.ts"
import { Action } from "../parts/action.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { Facts } from "../parts/facts.tsx"
import { FormDialog } from "../parts/form-dialog.tsx"
import { Id } from "../parts/id.tsx"
import { KeyStatus } from "../parts/key-status.tsx"
import { TextLink, usePlace } from "../parts/link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Online } from "../parts/online.tsx"
import { Page, Section } from "../parts/page.tsx"
import { PermissionChoice, usePermissions } from "../parts/permission-choice.tsx"
import { RoleChoice, roleText } from "../parts/role-choice.tsx"
import type { Tone } from "../parts/status.tsx"
import { Status } from "../parts/status.tsx"
import { Time } from "../parts/time.tsx"

/** One person: who they are, what they may, and changing that. */
export default function PersonPage() {
  const { personId } = useParams({ strict: false })
  const list = useAnswer<PersonList>("person-list")
  return (
    <Loaded of={list}>
      {({ people }) => {
        const found = people.find((one) => one.personId === personId)
        return found === undefined ? (
          <Empty
            title="There is no such person"
            says="They may have been removed, or never have been of this company."
          />
        ) : (
          <Shown found={found} />
        )
      }}
    </Loaded>
  )
}

function Shown({ found }: { readonly found: PersonOfTeam }) {
  const { personId, name, email, role, addedAt } = found
  const me = useMe()
  const presence = usePresences().get(personId)
  const bar = barOfRole(me, role)
  return (
    <Page
      title={name ?? email ?? personId}
      says={bar === null ? <Id id={personId} /> : `${bar}.`}
      actions={bar === null ? <Actions found={found} /> : undefined}
    >
      <Facts
        of={[
          ["Role", roleText(role)],
          ["Email", email],
          ["Seen", <Online key="seen" presence={presence} />],
          ["Since", <Time key="since" at={addedAt} isWhole />],
          [
            "Spending",
            <TextLink key="spending" to="spending" search={{ person: personId }}>
              What they spent
            </TextLink>,
          ],
          [
            "Refusals",
            <TextLink key="refusals" to="refusals" search={{ person: personId }}>
              What they were refused
            </TextLink>,
          ],
        ]}
      />
      <Permissions found={found} />
      <Keys personId={personId} />
    </Page>
  )
}

interface Held {
  readonly name: string
  readonly tone: Tone
  readonly word: string
}

function heldOf({ permissions, ofRole, deny }: PersonOfTeam, name: string): Held {
  if (deny.includes(name)) return { name, tone: "bad", word: "Denied" }
  if (!permissions.includes(name)) return { name, tone: "quiet", word: "No" }
  return { name, tone: "good", word: ofRole.includes(name) ? "By the role" : "Given" }
}

function Permissions({ found }: { readonly found: PersonOfTeam }) {
  const every = usePermissions()
  const { role, grant, deny } = found
  const single = (names: readonly string[]) => names.filter((name) => !every.includes(name))
  return (
    <Section title="What they may" says={ROLE_WORDS[role as Profile["role"]]}>
      <DataTable
        label="Permissions"
        rows={every.map((name) => heldOf(found, name))}
        rowKey={({ name }) => name}
        columns={[
          { title: "Permission", cell: ({ name }) => name },
          { title: "Allows", isWide: true, cell: ({ name }) => PERMISSION_WORDS[name] ?? "" },
          { title: "Held", cell: ({ tone, word }) => <Status tone={tone}>{word}</Status> },
        ]}
        empty={null}
      />
      <Single title="Also may" names={single(grant)} />
      <Single title="May not" names={single(deny)} />
    </Section>
  )
}

/** Operations that were given or denied one by one. */
function Single({ title, names }: { readonly title: string; readonly names: readonly string[] }) {
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
  const may = useMay("key-list")
  const keys = useAnswer<KeyList>("key-list", { person: personId }, may)
  if (!may) return null
  return (
    <Section title="Keys">
      <Loaded of={keys}>
        {(list) => (
          <DataTable<Key>
            label="Keys"
            rows={list.keys}
            rowKey={({ keyId }) => keyId}
            place={({ keyId }) => ({ to: `keys/${keyId}` })}
            columns={[
              { title: "Name", cell: ({ label, keyId }) => label ?? keyId },
              { title: "Id", isWide: true, cell: ({ keyId }) => <Id id={keyId} /> },
              { title: "Status", cell: ({ status }) => <KeyStatus status={status} /> },
              { title: "Created", isWide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
            ]}
            empty={
              <Empty
                title="No keys"
                says="A key of this person would call the API as they may, and its spending be theirs."
                command={`company-ledger key create --company NAME --person ${personId} --all-operations`}
              />
            }
          />
        )}
      </Loaded>
    </Section>
  )
}

function Actions({ found }: { readonly found: PersonOfTeam }) {
  const { personId, name, email, role } = found
  const navigate = useNavigate()
  const placeOf = usePlace()
  return (
    <>
      <Action
        operation="person-remove"
        input={{ personId }}
        typed={name ?? email ?? personId}
        label="Remove"
        says="They are signed out at once, and their keys are deleted for good. What they spent stays in the ledger."
        done="They are not of the company any more."
        isDangerous
        onDone={() => void navigate({ to: placeOf("team") })}
      />
      {role === "owner" || role === "admin" ? null : <ChangeAccess found={found} />}
      <ChangePerson found={found} />
    </>
  )
}

function ChangeAccess({ found }: { readonly found: PersonOfTeam }) {
  const { personId, permissions, ofRole } = found
  const me = useMe()
  // One's own permissions are somebody else's to change.
  if (personId === me.personId && !isAdmin(me)) return null
  return (
    <FormDialog<{ chosen: readonly string[] }, unknown>
      operation="person-app"
      label="Permissions"
      title="What they may"
      says="It holds from their next call on, for them and their keys."
      initial={{ chosen: permissions }}
      inputOf={({ chosen }) => ({ personId, ...accessChange(found, chosen) })}
      fields={(form) => (
        <PermissionChoice
          {...{ held: permissions, ofRole, chosen: form.values.chosen }}
          onChoose={(chosen) => form.setFieldValue("chosen", chosen)}
        />
      )}
      does="Save"
      done="Their permissions were changed."
    />
  )
}

type Values = { readonly name: string; readonly email: string; readonly role: string }

function ChangePerson({ found }: { readonly found: PersonOfTeam }) {
  const { personId } = found
  const me = useMe()
  const former: Values = { name: found.name ?? "", email: found.email ?? "", role: found.role }
  const changed = (name: keyof Values, value: string) =>
    value === former[name] ? undefined : value
  const isBarred = personId === me.personId && !isAdmin(me)
  return (
    <FormDialog<Values, unknown>
      operation="person-change"
      label="Change"
      title="Change who they are"
      variant="filled"
      isOwn={personId === me.personId}
      says="Another role ends their session: they sign in anew, as what they are by then."
      initial={former}
      check={{
        name: (name, all) => {
          if (name.trim() === "") return "A name"
          const names = Object.keys(former) as (keyof Values)[]
          return names.every((one) => all[one] === former[one]) ? "Nothing is changed yet" : null
        },
        email: (email) =>
          /^[^\s@]+@[^\s@]+$/.test(email.trim()) ? null : "An email, such as ada@example.com",
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
          <TextInput
            label="Email"
            description="They sign in with it"
            {...form.getInputProps("email")}
          />
          {isBarred ? null : (
            <RoleChoice
              value={form.values.role}
              onChange={(role) => form.setFieldValue("role", role)}
            />
          )}
        </>
      )}
      does="Save"
      done="It was changed."
    />
  )
}
