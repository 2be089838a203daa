import { Button, Modal } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import type { ReactNode } from "react"

/** Appearance of a button that opens a dialog. */
export type DialogVariant = "filled" | "default" | "subtle"

interface DialogButtonProps {
  readonly label: string
  /** Title of the dialog; default the label. */
  readonly title?: string | undefined
  readonly variant?: DialogVariant | undefined
  readonly isDangerous?: boolean | undefined
  readonly size?: "md" | "lg" | "xl"
  /** Whether a link opened the dialog without the button. */
  readonly isLinked?: boolean
  readonly onClosed?: () => void
  /** The dialog's content, rebuilt at each opening; gets a function that closes it. */
  readonly children: (close: () => void) => ReactNode
}

/** A button that opens a dialog. */
export function DialogButton(props: DialogButtonProps) {
  const { label, title = label, variant = "default", isDangerous = false, size = "md" } = props
  const { isLinked = false, onClosed } = props
  const [isOpen, { open, close: closeModal }] = useDisclosure(false)
  const close = () => {
    closeModal()
    onClosed?.()
  }
  const danger = { color: "red", variant: variant === "default" ? "light" : variant }
  return (
    <>
      <Button
        variant={variant}
        size={variant === "subtle" ? "compact-sm" : "sm"}
        onClick={open}
        {...(isDangerous ? danger : {})}
      >
        {label}
      </Button>
      <Modal
        opened={isOpen || isLinked}
        onClose={close}
        title={title}
        size={size}
        closeButtonProps={{ "aria-label": "Close" }}
      >
        {props.children(close)}
      </Modal>
    </>
  )
}
