import { useHotkeys } from "@mantine/hooks"
import { Spotlight, spotlight } from "@mantine/spotlight"
import type { SpotlightActionData } from "@mantine/spotlight"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import type { KeyList, PersonList } from "../api/answers.ts"
import { useMe } from "../api/session.ts"
import { usePagePath } from "../parts/link.tsx"
import { visiblePages } from "../pages.ts"

/** Opens the palette, as its keyboard shortcuts do. */
export const openPalette = spotlight.open

/** The command palette: opens a page, a key, a person, or a charge or request by its id. */
export default function CommandPalette() {
  const me = useMe()
  const pathOf = usePagePath()
  const navigate = useNavigate()
  const [query, setQuery] = useState("")
  const [isOpened, setOpened] = useState(false)
  // The shortcut also works in a text field, where `/` is a letter.
  useHotkeys([["mod+K", openPalette]], [])
  const keys = useOperationQuery<KeyList>("key-list", {}, isOpened).data?.keys ?? []
  const seesPeople = useCanRun("person-list")
  const people =
    useOperationQuery<PersonList>("person-list", {}, isOpened && seesPeople).data?.people ?? []
  const go =
    (to: string, search: Record<string, string> = {}) =>
    () =>
      void navigate({ to: pathOf(to), search })
  const pages: SpotlightActionData[] = visiblePages(me).map(({ path, title }) => ({
    id: `page-${path}`,
    label: title,
    description: "Page",
    onClick: go(path),
  }))
  const ofKeys = keys.map(({ keyId, label }) => ({
    id: keyId,
    label: label ?? keyId,
    description: `Key ${keyId}`,
    onClick: go(`keys/${keyId}`),
  }))
  const ofPeople = people.map(({ personId, name, email }) => ({
    id: personId,
    label: name ?? email ?? personId,
    description: `Person ${personId}`,
    onClick: go(`team/${personId}`),
  }))
  const named = query.trim()
  const ofId = { id: "by-id", description: "By its id" }
  // The caller chooses charge ids, so any text without a space that is not a plain word may be one.
  const byId = !/^(?=.*[\d_-])[\w.:-]{4,}$/.test(named)
    ? []
    : named.startsWith("req_")
      ? [{ ...ofId, label: `Request ${named}`, onClick: go("ledger", { request: named }) }]
      : [
          {
            ...ofId,
            label: `Charge ${named}`,
            onClick: go(`spending/${encodeURIComponent(named)}`),
          },
        ]
  return (
    <Spotlight
      actions={[...pages, ...ofKeys, ...ofPeople, ...byId]}
      query={query}
      onQueryChange={setQuery}
      onSpotlightOpen={() => setOpened(true)}
      shortcut="/"
      nothingFound="No matches. Enter ids completely."
      highlightQuery
      limit={12}
      searchProps={{
        placeholder: "Page, key, person, charge or request id",
        "aria-label": "Go to",
      }}
    />
  )
}
