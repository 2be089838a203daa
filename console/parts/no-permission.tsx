import { EmptyState } from "./empty-state.tsx"
import { PageLayout } from "./page-layout.tsx"

interface NotYoursProps {
  readonly title: string
  /** What is hidden from the reader: `the bills`. */
  readonly what: string
  /** Any of these permissions shows it. */
  readonly permissions: readonly string[]
}

/** The page for a reader without permission: which permission it needs, and who can give it. */
export function NoPermission({ title, what, permissions }: NotYoursProps) {
  const named = permissions.map((name) => `“${name}”`).join(" or ")
  return (
    <PageLayout title={title}>
      <EmptyState
        title={`You have no access to ${what}`}
        description={`You need the permission ${named}. Ask an owner or admin for it.`}
      />
    </PageLayout>
  )
}
