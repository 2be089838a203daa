import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import { notifications } from "@mantine/notifications"
import { useState } from "react"
import type { ReactNode } from "react"
import { asked } from "../api/queries.ts"
import { useMe } from "../api/session.ts"
import { CopyAs } from "./copy-as.tsx"
import { Fault } from "./fault.tsx"

interface ApiActionProps {
  /** On the button. */
  readonly label: string
  /** What it will do, before it is done. */
  readonly says: ReactNode
  /** What was done, after. */
  readonly done: string
  /** Does it by the API. @throws Refused */
  readonly does: () => Promise<unknown>
  /** The curl that does the same. */
  readonly curl: string
  readonly isDangerous?: boolean
  /** What is typed where it cannot be undone. */
  readonly typed?: string
  readonly isReady?: boolean
  readonly variant?: "filled" | "default" | "subtle"
  readonly onDone?: () => void
  /** More that is asked before it is done. */
  readonly children?: ReactNode
}

/** A button that says what a call of the API will do, asks, makes it, and says what it did. */
export function ApiAction(props: ApiActionProps) {
  const { label, isDangerous = false, variant = "default" } = props
  const [isOpen, { open, close }] = useDisclosure(false)
  const red = { color: "red", variant: variant === "default" ? ("light" as const) : variant }
  return (
    <>
      <Button
        variant={variant}
        size={variant === "subtle" ? "compact-sm" : "sm"}
        onClick={open}
        {...(isDangerous ? red : {})}
      >
        {label}
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={label}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Confirm {...props} onClose={close} />
      </Modal>
    </>
  )
}

function Confirm(props: ApiActionProps & { readonly onClose: () => void }) {
  const { label, says, done, does, curl, isDangerous = false, typed, onDone, onClose } = props
  const { companyId } = useMe()
  const [word, setWord] = useState("")
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const isReady = (typed === undefined || word === typed) && props.isReady !== false
  const act = async () => {
    setBusy(true)
    setError(null)
    try {
      await does()
      await asked.invalidateQueries({ queryKey: [companyId] })
      notifications.show({ message: done })
      onClose()
      onDone?.()
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown
      setError(thrown)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Stack
      component="form"
      onSubmit={(event: { preventDefault: () => void }) => {
        event.preventDefault()
        if (isReady) void act()
      }}
    >
      <Text size="sm">{says}</Text>
      {props.children}
      {typed === undefined ? null : (
        <TextInput
          label={`This cannot be undone: type ${typed}`}
          value={word}
          autoComplete="off"
          onChange={(event) => setWord(event.currentTarget.value)}
        />
      )}
      {error === null ? null : <Fault error={error} />}
      <Group justify="space-between">
        <CopyAs what="curl" command={curl} />
        <Button
          type="submit"
          loading={isBusy}
          disabled={!isReady}
          {...(isDangerous ? { color: "red" } : {})}
        >
          {label}
        </Button>
      </Group>
    </Stack>
  )
}
