import { Anchor, Button, Center, Group, Stack, Text, Title } from "@mantine/core"
import { Link } from "@tanstack/react-router"
import { operate } from "../api/operations.ts"
import { asked } from "../api/queries.ts"
import { useMe, useSession } from "../api/session.ts"
import { Fault } from "../parts/fault.tsx"
import { leave } from "../parts/leave.ts"
import { Time } from "../parts/time.tsx"
import { useAct } from "../parts/use-act.ts"

/** A company that was deleted: an owner can undo that for a time, and nobody is kept here. */
export function Deleted() {
  const { company, companyId, deleteDataAfter, role } = useMe()
  const { act, isBusy, error } = useAct(async () => {
    await operate(companyId, "company-restore")
    await asked.invalidateQueries()
  })
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack maw={460}>
        <Title order={1}>{company ?? companyId} was deleted</Title>
        <Text size="sm">
          Its keys are refused. Its data is erased on <Time at={deleteDataAfter} isWhole />.{" "}
          {role === "owner" ? "Until then you can undo it." : "Until then an owner can undo it."}
        </Text>
        {error === null ? null : <Fault error={error} />}
        {role === "owner" ? (
          <Button loading={isBusy} onClick={() => void act()}>
            Restore the company
          </Button>
        ) : null}
        <WaysOut />
      </Stack>
    </Center>
  )
}

/** The reader's other companies, and signing out. */
function WaysOut() {
  const { companyId, email } = useMe()
  const { data: companies } = useSession()
  const others = (companies ?? []).filter((one) => one.companyId !== companyId)
  return (
    <Stack gap="xs">
      {others.map(({ companyId: other, company }) => (
        <Anchor
          key={other}
          size="sm"
          renderRoot={(props) => <Link {...props} to="/$company" params={{ company: other }} />}
        >
          Go to {company ?? other}
        </Anchor>
      ))}
      <Group gap="xs" justify="space-between">
        <Text size="sm" c="dimmed">
          Signed in as {email}
        </Text>
        <Button variant="default" size="xs" onClick={() => void leave()}>
          Sign out
        </Button>
      </Group>
    </Stack>
  )
}
