import { AppShell, Burger, Button, Group, Text, UnstyledButton } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { Outlet, useParams } from "@tanstack/react-router"
import { Suspense, lazy, useEffect } from "react"
import { callConsole } from "../api/console-request.ts"
import { useItemNames } from "../api/names.ts"
import { useOperations } from "../api/operations.ts"
import { ProfileProvider, useMe, useSession } from "../api/session.ts"
import { SearchIcon } from "../parts/icons.tsx"
import { QueryView, Loading } from "../parts/query-view.tsx"
import { AccountMenu } from "./account-menu.tsx"
import { DeletedCompany } from "./deleted-company.tsx"
import { Navigation } from "./navigation.tsx"
import { NotFound } from "./not-found.tsx"

const Palette = lazy(() => import("./palette.tsx"))

/** Interval of the online status, ms. */
const HEARTBEAT_MS = 60_000

/** The frame of a company's pages. */
export function CompanyShell() {
  const { company } = useParams({ strict: false })
  const { data: companies } = useSession()
  const me = companies?.find(({ companyId }) => companyId === company)
  if (me === undefined) return <NotFound />
  return (
    <ProfileProvider value={me}>
      {me.deleteDataAfter === null ? <Frame /> : <DeletedCompany />}
    </ProfileProvider>
  )
}

function Frame() {
  const [isOpen, { toggle, close }] = useDisclosure(false)
  const { company, companyId } = useMe()
  // Pages depend on this person's permissions, so these are loaded first.
  const operations = useOperations()
  const itemNames = useItemNames()
  useOnlineHeartbeat(companyId)
  return (
    <AppShell
      header={{ height: 48 }}
      navbar={{ width: 208, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      padding={{ base: "md", md: "xl" }}
      transitionDuration={0}
    >
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap" miw={0}>
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={isOpen ? "Close the navigation" : "Open the navigation"}
            />
            <Text fw={600} truncate>
              {company ?? companyId}
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <Search />
            <AccountMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        <Navigation onGo={close} />
      </AppShell.Navbar>
      <AppShell.Main maw={1440}>
        <QueryView query={operations}>
          {() => (itemNames.isPending ? <Loading /> : <Outlet />)}
        </QueryView>
      </AppShell.Main>
      <Suspense>
        <Palette />
      </Suspense>
    </AppShell>
  )
}

function Search() {
  const open = () => void import("./palette.tsx").then(({ openPalette }) => openPalette())
  return (
    <>
      <Button
        visibleFrom="xs"
        variant="default"
        size="xs"
        fw={400}
        leftSection={<SearchIcon />}
        onClick={open}
      >
        Go to … <Text span size="xs" c="dimmed" ml="xs">{`${isMac() ? "⌘" : "Ctrl "}K`}</Text>
      </Button>
      <UnstyledButton hiddenFrom="xs" p={6} aria-label="Go to …" onClick={open}>
        <SearchIcon />
      </UnstyledButton>
    </>
  )
}

const isMac = (): boolean => navigator.userAgent.includes("Mac")

/** Reports the reader as online while the page is visible. */
function useOnlineHeartbeat(companyId: string): void {
  useEffect(() => {
    const beat = () => {
      // A failed report is ignored: the next one follows soon.
      if (document.visibilityState === "visible") {
        void callConsole("POST", `/${companyId}/presence`).catch(() => undefined)
      }
    }
    beat()
    const every = setInterval(beat, HEARTBEAT_MS)
    return () => clearInterval(every)
  }, [companyId])
}
