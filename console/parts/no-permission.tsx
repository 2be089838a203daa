import { EmptyState } from "./empty-state.tsx"
import { PageLayout } from "./page-layout.tsx"

interface NotYoursProps {
  /** The page's. */
  readonly title: string
  /** What they do not see: `the bills`. */
  readonly what: string
  /** Each of these lets somebody see it. */
  readonly permissions: readonly string[]
}

/** A page whose address somebody has who may not see what is there: who may, and who can let them. */
export function NoPermission({ title, what, permissions }: NotYoursProps) {
  const named = permissions.map((name) => `“${name}”`).join(" or ")
  return (
    <PageLayout title={title}>
      <EmptyState
        title={`You do not see ${what}`}
        description={`That takes the permission ${named}. An owner or admin can give it to you.`}
      />
    </PageLayout>
  )
}
