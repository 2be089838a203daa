import { Text } from "@mantine/core"
import styles from "./parts.module.css"

/** A person's text with its line breaks, never as HTML. */
export function LongText({ children }: { readonly children: string }) {
  return (
    <Text size="sm" className={styles.longText}>
      {children}
    </Text>
  )
}
