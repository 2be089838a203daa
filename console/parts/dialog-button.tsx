import { Button, Modal } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import type { ReactNode } from "react"

/** How a button looks that opens a dialog. */
export type DialogVariant = "filled" | "default" | "subtle"

interface DialogButtonProps {
  /** On the button. */
  readonly label: string
  /** Above the dialog; default the label. */
  readonly title?: string | undefined
  readonly variant?: DialogVariant | undefined
  readonly isDangerous?: boolean | undefined
  readonly size?: "md" | "lg" | "xl"
  /** What is in the dialog, given what closes it; made anew each time that it is opened. */
  readonly children: (close: () => void) => ReactNode
}

/** A button that opens a dialog. */
export function DialogButton(props: DialogButtonProps) {
  const { label, title = label, variant = "default", isDangerous = false, size = "md" } = props
  const [isOpen, { open, close }] = useDisclosure(false)
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
        opened={isOpen}
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
