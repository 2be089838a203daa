import { Anchor, Center, Stack, Text, Title } from "@mantine/core"
import { Link, Navigate } from "@tanstack/react-router"
import { useSession } from "../api/session.ts"

/** Which company: chosen where somebody is of several. */
export function ChooseCompany() {
  const { data: companies } = useSession()
  const [first, second] = companies ?? []
  if (first !== undefined && second === undefined) {
    return <Navigate to="/$company" params={{ company: first.companyId }} replace />
  }
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack w="100%" maw={360}>
        <Title order={1}>Choose a company</Title>
        {(companies ?? []).map(({ companyId, company, role }) => (
          <Anchor
            key={companyId}
            renderRoot={(props) => (
              <Link {...props} to="/$company" params={{ company: companyId }} />
            )}
          >
            {company ?? companyId}{" "}
            <Text span size="sm" c="dimmed">
              {role}
            </Text>
          </Anchor>
        ))}
      </Stack>
    </Center>
  )
}
