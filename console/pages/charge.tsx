import { Page } from "../parts/page.tsx"

/** Not written yet. */
export default function NotYet() {
  return <Page title="charge">…</Page>
}
