import styles from "./parts.module.css"

const COLORS = {
  good: "light-dark(#1f8a4c, #4cc38a)",
  busy: "light-dark(#b96a00, #f0a742)",
  bad: "light-dark(#c0262d, #ff7b7b)",
  quiet: "light-dark(#868e96, #868e96)",
} as const

/** The kind of a status, shown as a color. */
export type Tone = keyof typeof COLORS

/** A status as a word with a colored dot: never a color alone. */
export function StatusBadge({
  tone,
  children,
}: {
  readonly tone: Tone
  readonly children: string
}) {
  return (
    <span className={styles.status}>
      <span className={styles.dot} aria-hidden style={{ background: COLORS[tone] }} />
      {children}
    </span>
  )
}
