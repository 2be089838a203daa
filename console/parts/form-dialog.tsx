import { Button, Modal } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import type { Input } from "../api/operations.ts"
import { useCommand, useOperate, useOperation } from "../api/operations.ts"
import { CopyAs } from "./copy-as.tsx"
import type { DialogTerms } from "./dialog-form.tsx"
import { DialogForm } from "./dialog-form.tsx"

interface FormDialogProps<Values extends Record<string, unknown>, Answer> extends DialogTerms<
  Values,
  Answer
> {
  readonly operation: string
  /** On the button that opens it. */
  readonly label: string
  readonly title?: string
  /** What the operation is given. */
  readonly inputOf: (values: Values) => Input
  readonly variant?: "filled" | "default" | "subtle"
  readonly isOwn?: boolean
}

/** A button that opens a form, which does an operation. What was typed stays where the server refuses. */
export function FormDialog<Values extends Record<string, unknown>, Answer>(
  props: FormDialogProps<Values, Answer>,
) {
  const { operation: name, label, title = label, variant = "default", isOwn = false } = props
  const operation = useOperation(name)
  const [isOpen, { open, close }] = useDisclosure(false)
  if (operation === null || operation.may === "no" || (operation.may === "own" && !isOwn))
    return null
  return (
    <>
      <Button variant={variant} size={variant === "subtle" ? "compact-sm" : "sm"} onClick={open}>
        {label}
      </Button>
      <Modal
        opened={isOpen}
        onClose={close}
        title={title}
        size="lg"
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Form {...props} onClose={close} />
      </Modal>
    </>
  )
}

function Form<Values extends Record<string, unknown>, Answer>(
  props: FormDialogProps<Values, Answer> & { readonly onClose: () => void },
) {
  const { operation: name, inputOf } = props
  const operation = useOperation(name)
  const operate = useOperate()
  const commandOf = useCommand()
  return (
    <DialogForm<Values, Answer>
      {...props}
      act={(values) => operate<Answer>(name, inputOf(values))}
      copyAs={(values) =>
        operation === null ? null : <CopyAs command={commandOf(operation, inputOf(values))} />
      }
    />
  )
}

/** Why a text is no amount of dollars that can be asked for; null where it is one. */
export function dollarsFault(text: string): string | null {
  return /^\d{1,9}(\.\d{1,6})?$/.test(text.trim()) ? null : "An amount of dollars, such as 12.50"
}
