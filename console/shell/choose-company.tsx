import { Anchor, Center, Stack, Text, Title } from "@mantine/core"
import { Link, Navigate } from "@tanstack/react-router"
import { useSession } from "../api/session.ts"
import { useFilters } from "../parts/filters.ts"

const CONNECT_CODE = /^[A-Z2-9]{4}(-[A-Z2-9]{4}){3}$/

type LinkToCompany = (companyId: string) => {
  readonly to: string
  readonly search: Readonly<Record<string, string>>
}

/** Target page in a company: its overview, or the approval of the app whose code the address has. */
function linkToCompany(connect: string | undefined): LinkToCompany {
  if (!CONNECT_CODE.test(connect ?? "")) return (companyId) => ({ to: `/${companyId}`, search: {} })
  const search = { tab: "approve", code: connect ?? "" }
  return (companyId) => ({ to: `/${companyId}/settings`, search })
}

/** Asks people of several companies to choose one. */
export function ChooseCompany() {
  const { data: companies } = useSession()
  const [{ connect }] = useFilters()
  const placeAt = linkToCompany(connect)
  const [first, second] = companies ?? []
  if (first !== undefined && second === undefined) {
    return <Navigate {...placeAt(first.companyId)} replace />
  }
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack w="100%" maw={360}>
        <Title order={1}>Choose a company</Title>
        {(companies ?? []).map(({ companyId, company, role }) => (
          <Anchor
            key={companyId}
            renderRoot={(props) => <Link {...props} {...placeAt(companyId)} />}
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
