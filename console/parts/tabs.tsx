import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { useFilters } from "./filters.ts"
import styles from "./parts.module.css"

/** A part of a page that is shown by itself. */
export interface Tab {
  /** In the address: `?tab=texts`. */
  readonly name: string
  readonly title: string
  /** Whether this reader may see it. */
  readonly isShown?: boolean
  readonly content: () => ReactNode
}

interface TabsProps {
  /** What they are parts of, for whoever hears the page. */
  readonly label: string
  readonly tabs: readonly Tab[]
}

/** On a narrow screen there are more tabs than are seen: the chosen one is moved to where it is. */
function moveIntoView(tab: Element | null): void {
  tab?.scrollIntoView({ block: "nearest", inline: "center" })
}

/** The parts of a page, one at a time. The address says which; without it is the first one. */
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
