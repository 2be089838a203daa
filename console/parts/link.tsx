import { Anchor } from "@mantine/core"
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { useMe } from "../api/session.ts"
import styles from "./parts.module.css"

/** Target of a link: a page of this company, with filters. */
export interface LinkTarget {
  /** Path after the company: `spending/chg_…`; empty for the overview. */
  readonly to: string
  readonly search?: Readonly<Record<string, string>>
}

/** Returns a function that builds the path of a page of this company. */
export function usePagePath(): (to: string) => string {
  const { companyId } = useMe()
  return (to) => (to === "" ? `/${companyId}` : `/${companyId}/${to}`)
}

/** A link in a sentence. */
export function TextLink({ to, search, children }: LinkTarget & { readonly children: ReactNode }) {
  const pathOf = usePagePath()
  return (
    <Anchor
      inherit
      underline="always"
      renderRoot={(props) => <Link {...props} to={pathOf(to)} search={search ?? {}} />}
    >
      {children}
    </Anchor>
  )
}

/** The link of a row, styled as text. */
export function RowLink({ to, search, children }: LinkTarget & { readonly children: ReactNode }) {
  const pathOf = usePagePath()
  return (
    <Link className={styles.rowLink} data-row to={pathOf(to)} search={search ?? {}}>
      {children}
    </Link>
  )
}
