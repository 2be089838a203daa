import { ActionIcon, CopyButton, Group } from "@mantine/core"
import { CheckIcon, CopyIcon } from "./icons.tsx"
import styles from "./parts.module.css"

/** Longer ids are shortened in their middle. */
const MAX_LENGTH = 18

/** Shortens an id for display: `chg_0353…vep`. */
export function shortId(id: string): string {
  return id.length <= MAX_LENGTH ? id : `${id.slice(0, 8)}…${id.slice(-4)}`
}

/** A shortened id with a button that copies all of it. */
export function Id({ id }: { readonly id: string | null }) {
  if (id === null) return <>–</>
  return (
    <Group gap={2} wrap="nowrap" component="span" display="inline-flex">
      <span className={styles.id} title={id}>
        {shortId(id)}
      </span>
      <CopyIconButton text={id} what={id} />
    </Group>
  )
}

/** A small button that copies a text. */
export function CopyIconButton({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <ActionIcon
          size="xs"
          variant="subtle"
          color="gray"
          aria-label={copied ? `Copied ${what}` : `Copy ${what}`}
          onClick={(event) => {
            event.preventDefault()
            copy()
          }}
        >
          {copied ? <CheckIcon /> : <CopyIcon />}
        </ActionIcon>
      )}
    </CopyButton>
  )
}
