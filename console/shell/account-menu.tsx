import { ActionIcon, Menu, Text, UnstyledButton, useMantineColorScheme } from "@mantine/core"
import { Link } from "@tanstack/react-router"
import { useMe, useSession } from "../api/session.ts"
import { ContrastIcon } from "../parts/icons.tsx"
import { signOutOrNotify } from "../parts/sign-out.ts"

/** The menu of the reader: other companies, color scheme and signing out. */
export function AccountMenu() {
  const { name, email, role, companyId } = useMe()
  const { data: companies } = useSession()
  const others = (companies ?? []).filter((one) => one.companyId !== companyId)
  return (
    <>
      <ColorSchemeButton />
      <Menu position="bottom-end" width={240}>
        <Menu.Target>
          <UnstyledButton fz="sm" maw={160}>
            <Text size="sm" truncate>
              {name ?? email}
            </Text>
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>
            {email}, {role}
          </Menu.Label>
          {others.map(({ companyId: other, company }) => (
            <Menu.Item
              key={other}
              renderRoot={(props) => <Link {...props} to="/$company" params={{ company: other }} />}
            >
              Go to {company ?? other}
            </Menu.Item>
          ))}
          <Menu.Item onClick={() => void signOutOrNotify()}>Sign out</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  )
}

function ColorSchemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const next = { auto: "light", light: "dark", dark: "auto" } as const
  const words = { auto: "system setting", light: "light", dark: "dark" } as const
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={`Colors: ${words[colorScheme]}. Change to ${words[next[colorScheme]]}`}
      title={`Colors: ${words[colorScheme]}`}
      onClick={() => setColorScheme(next[colorScheme])}
    >
      <ContrastIcon />
    </ActionIcon>
  )
}
