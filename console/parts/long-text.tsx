import { Text } from "@mantine/core"
import styles from "./parts.module.css"

/** What somebody wrote: in its own lines, as text alone. */
export function LongText({ children }: { readonly children: string }) {
  return (
    <Text size="sm" className={styles.longText}>
      {children}
    </Text>
  )
}
