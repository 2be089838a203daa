import { NavLink, ScrollArea, Text } from "@mantine/core"
import { Link } from "@tanstack/react-router"
import { useMe } from "../api/session.ts"
import { usePagePath } from "../parts/link.tsx"
import { visiblePages } from "../pages.ts"
import type { PageEntry } from "../pages.ts"

/** Links to the pages that this person may see. */
export function Navigation({ onGo }: { readonly onGo: () => void }) {
  const me = useMe()
  const groups = Map.groupBy(visiblePages(me), ({ group }) => group)
  return (
    <ScrollArea type="never">
      {[...groups].map(([group, pages]) => (
        <div key={group}>
          <Text size="xs" c="dimmed" fw={500} px="sm" pt="md" pb={4}>
            {group}
          </Text>
          {pages.map((page) => (
            <Entry key={page.path} page={page} onGo={onGo} />
          ))}
        </div>
      ))}
    </ScrollArea>
  )
}

function Entry({ page, onGo }: { readonly page: PageEntry; readonly onGo: () => void }) {
  const pathOf = usePagePath()
  return (
    <NavLink
      label={page.title}
      py={5}
      variant="light"
      renderRoot={(props) => (
        <Link
          {...props}
          to={pathOf(page.path)}
          activeOptions={{ exact: page.path === "", includeSearch: false }}
          activeProps={{ "data-active": true, "aria-current": "page" }}
          onClick={onGo}
        />
      )}
    />
  )
}
