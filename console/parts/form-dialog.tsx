import { Button, Group, Modal, Stack, Text } from "@mantine/core"
import { useForm } from "@mantine/form"
import type { UseFormReturnType } from "@mantine/form"
import { useDisclosure } from "@mantine/hooks"
import { notifications } from "@mantine/notifications"
import { useState } from "react"
import type { ReactNode } from "react"
import type { Input } from "../api/operations.ts"
import { useCommand, useOperate, useOperation } from "../api/operations.ts"
import { Refused } from "../api/refused.ts"
import { CopyAs } from "./copy-as.tsx"
import { Fault } from "./fault.tsx"

interface FormDialogProps<Values extends Record<string, unknown>, Answer> {
  readonly operation: string
  /** On the button that opens it. */
  readonly label: string
  readonly title?: string
  /** What it will do. */
  readonly says?: ReactNode
  readonly initial: Values
  /** Why a field cannot be as it is, by its name; checked while typing. */
  readonly check?: {
    readonly [Name in keyof Values]?: (value: Values[Name], all: Values) => string | null
  }
  /** What the operation is given. */
  readonly inputOf: (values: Values) => Input
  readonly fields: (form: UseFormReturnType<Values>) => ReactNode
  /** On the button that does it. */
  readonly does: string
  readonly done: string
  readonly onDone?: (answer: Answer) => void
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
  const {
    operation: name,
    initial,
    check = {},
    inputOf,
    fields,
    does,
    done,
    onDone,
    onClose,
  } = props
  const operation = useOperation(name)
  const operate = useOperate()
  const commandOf = useCommand()
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const form = useForm<Values>({
    initialValues: initial,
    validate: check as NonNullable<Parameters<typeof useForm<Values>>[0]>["validate"] & object,
    validateInputOnChange: true,
  })
  const act = async (values: Values) => {
    setBusy(true)
    setError(null)
    try {
      const answer = await operate<Answer>(name, inputOf(values))
      notifications.show({ message: done })
      onClose()
      onDone?.(answer)
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown
      if (thrown instanceof Refused) form.setErrors({ ...thrown.fields })
      setError(thrown)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={form.onSubmit((values) => void act(values))} noValidate>
      <Stack>
        {props.says === undefined ? null : <Text size="sm">{props.says}</Text>}
        {fields(form)}
        {error === null ? null : <Fault error={error} />}
        <Group justify="space-between">
          {operation === null ? (
            <span />
          ) : (
            <CopyAs command={commandOf(operation, inputOf(form.values))} />
          )}
          <Button type="submit" loading={isBusy}>
            {does}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Why a text is no amount of dollars that can be asked for; null where it is one. */
export function dollarsFault(text: string): string | null {
  return /^\d{1,9}(\.\d{1,6})?$/.test(text.trim()) ? null : "An amount of dollars, such as 12.50"
}
