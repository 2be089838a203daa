import { Anchor, Button, Center, Group, Stack, Text, Title } from "@mantine/core"
import { Link } from "@tanstack/react-router"
import { callOperation } from "../api/operations.ts"
import { queryClient } from "../api/query-client.ts"
import { useMe, useSession } from "../api/session.ts"
import { ErrorAlert } from "../parts/error-alert.tsx"
import { signOutOrNotify } from "../parts/sign-out.ts"
import { Time } from "../parts/time.tsx"
import { useAsyncAction } from "../parts/use-async-action.ts"

/** The page of a deleted company: an owner can restore it until its erasure. */
export function DeletedCompany() {
  const { company, companyId, deleteDataAfter, role } = useMe()
  const { run, isBusy, error } = useAsyncAction(async () => {
    await callOperation(companyId, "company-restore")
    await queryClient.invalidateQueries()
  })
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack maw={460}>
        <Title order={1}>{company ?? companyId} was deleted</Title>
        <Text size="sm">
          Its keys are refused. Its data is erased on <Time at={deleteDataAfter} isWhole />.{" "}
          {role === "owner" ? "Until then you can undo it." : "Until then an owner can undo it."}
        </Text>
        {error === null ? null : <ErrorAlert error={error} />}
        {role === "owner" ? (
          <Button loading={isBusy} onClick={() => void run()}>
            Restore the company
          </Button>
        ) : null}
        <OtherCompanies />
      </Stack>
    </Center>
  )
}

/** Links to the reader's other companies, and signing out. */
function OtherCompanies() {
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
        <Button variant="default" size="xs" onClick={() => void signOutOrNotify()}>
          Sign out
        </Button>
      </Group>
    </Stack>
  )
}
