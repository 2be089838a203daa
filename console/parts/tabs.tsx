import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { useFilters } from "./filters.ts"
import styles from "./parts.module.css"

export interface Tab {
  /** Name in the address: `?tab=texts`. */
  readonly name: string
  readonly title: string
  readonly isShown?: boolean
  readonly content: () => ReactNode
}

interface TabsProps {
  /** Label of the tabs, for screen readers. */
  readonly label: string
  readonly tabs: readonly Tab[]
}

/** Scrolls to the chosen tab, because narrow screens do not show all tabs. */
function moveIntoView(tab: Element | null): void {
  tab?.scrollIntoView({ block: "nearest", inline: "center" })
}

/** The tabs of a page; the address names the chosen one, by default the first. */
export function Tabs({ label, tabs }: TabsProps) {
  const [{ tab }] = useFilters()
  const shown = tabs.filter(({ isShown = true }) => isShown)
  const chosen = shown.find(({ name }) => name === tab) ?? shown[0]
  if (chosen === undefined) return null
  return (
    <>
      <nav className={styles.tabs} aria-label={label}>
        {shown.map(({ name, title }) => (
          <Link
            key={name}
            ref={name === chosen.name ? moveIntoView : null}
            className={styles.tab}
            data-tab
            to="."
            search={name === shown[0]?.name ? {} : { tab: name }}
            {...(name === chosen.name ? { "aria-current": "page" } : { "aria-current": undefined })}
            activeOptions={{ includeSearch: true, exact: true }}
          >
            {title}
          </Link>
        ))}
      </nav>
      {chosen.content()}
    </>
  )
}
