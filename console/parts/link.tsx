import { Anchor } from "@mantine/core"
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { useMe } from "../api/session.ts"
import styles from "./parts.module.css"

/** Where a link leads: a page of this company, with its filters. */
export interface LinkTarget {
  /** Behind the company: `spending/chg_…`; empty for the overview. */
  readonly to: string
  readonly search?: Readonly<Record<string, string>>
}

/** Makes the address of a page at this company. */
export function usePagePath(): (to: string) => string {
  const { companyId } = useMe()
  return (to) => (to === "" ? `/${companyId}` : `/${companyId}/${to}`)
}

/** A link in a sentence. */
export function TextLink({ to, search, children }: LinkTarget & { readonly children: ReactNode }) {
  const placeOf = usePagePath()
  return (
    <Anchor
      inherit
      underline="always"
      renderRoot={(props) => <Link {...props} to={placeOf(to)} search={search ?? {}} />}
    >
      {children}
    </Anchor>
  )
}

/** The link of a row: it looks like text. */
export function RowLink({ to, search, children }: LinkTarget & { readonly children: ReactNode }) {
  const placeOf = usePagePath()
  return (
    <Link className={styles.rowLink} data-row to={placeOf(to)} search={search ?? {}}>
      {children}
    </Link>
  )
}
