import type { OperationInput } from "../api/operations.ts"
import { useCommand, useCallOperation, useOperation } from "../api/operations.ts"
import { CopyCommandButton } from "./copy-command.tsx"
import type { DialogVariant } from "./dialog-button.tsx"
import { DialogButton } from "./dialog-button.tsx"
import type { DialogFormOptions } from "./dialog-form.tsx"
import { DialogForm } from "./dialog-form.tsx"

interface OperationFormButtonProps<
  Values extends Record<string, unknown>,
  Answer,
> extends DialogFormOptions<Values, Answer> {
  readonly operation: string
  readonly label: string
  readonly title?: string
  /** Input of the operation for the entered values. */
  readonly inputOf: (values: Values) => OperationInput
  readonly variant?: DialogVariant
  readonly isOwn?: boolean
}

/** A button with a form that runs an operation; it keeps the entered values if the server rejects them. */
export function OperationFormButton<Values extends Record<string, unknown>, Answer>(
  props: OperationFormButtonProps<Values, Answer>,
) {
  const { operation: name, label, title, variant, isOwn = false } = props
  const operation = useOperation(name)
  if (operation === null || operation.may === "no" || (operation.may === "own" && !isOwn))
    return null
  return (
    <DialogButton label={label} title={title} variant={variant} size="lg">
      {(close) => <OperationForm {...props} onClose={close} />}
    </DialogButton>
  )
}

function OperationForm<Values extends Record<string, unknown>, Answer>(
  props: OperationFormButtonProps<Values, Answer> & { readonly onClose: () => void },
) {
  const { operation: name, inputOf } = props
  const operation = useOperation(name)
  const operate = useCallOperation()
  const commandOf = useCommand()
  return (
    <DialogForm<Values, Answer>
      {...props}
      act={(values) => operate<Answer>(name, inputOf(values))}
      copyAs={(values) =>
        operation === null ? null : (
          <CopyCommandButton command={commandOf(operation, inputOf(values))} />
        )
      }
    />
  )
}

/** Why a text is not a valid dollar amount; null if it is. */
export function dollarsFault(text: string): string | null {
  return /^\d{1,9}(\.\d{1,6})?$/.test(text.trim())
    ? null
    : "Must be an amount of dollars, such as 12.50"
}
