import type { ApiChange } from "../api/api-change.ts"
import { useApiChange } from "../api/api-change.ts"
import { CopyCommandButton, curlOfChange } from "./copy-command.tsx"
import type { DialogVariant } from "./dialog-button.tsx"
import { DialogButton } from "./dialog-button.tsx"
import type { DialogFormOptions } from "./dialog-form.tsx"
import { DialogForm } from "./dialog-form.tsx"

type Optional = "initialValues" | "fields" | "submitLabel"

interface ApiCallButtonProps<Values extends Record<string, unknown>, Answer>
  extends
    Omit<DialogFormOptions<Values, Answer>, Optional>,
    Partial<Pick<DialogFormOptions<Values, Answer>, Optional>> {
  readonly label: string
  readonly title?: string
  readonly changeOf: (values: Values) => ApiChange
  readonly variant?: DialogVariant
}

/** A button whose dialog explains an API call, asks for its values, and sends it. */
export function ApiCallButton<Values extends Record<string, unknown>, Answer = unknown>(
  props: ApiCallButtonProps<Values, Answer>,
) {
  const { label, title, variant, isDangerous } = props
  return (
    <DialogButton
      label={label}
      title={title}
      variant={variant}
      isDangerous={isDangerous}
      size={props.fields === undefined ? "md" : "lg"}
    >
      {(close) => <ApiCallForm {...props} onClose={close} />}
    </DialogButton>
  )
}

function ApiCallForm<Values extends Record<string, unknown>, Answer>(
  props: ApiCallButtonProps<Values, Answer> & { readonly onClose: () => void },
) {
  const { changeOf, label } = props
  const change = useApiChange()
  return (
    <DialogForm<Values, Answer>
      {...props}
      initialValues={props.initialValues ?? ({} as Values)}
      fields={props.fields ?? (() => null)}
      submitLabel={props.submitLabel ?? label}
      act={(values) => change<Answer>(changeOf(values))}
      copyAs={(values) => (
        <CopyCommandButton what="curl" command={curlOfChange(changeOf(values))} />
      )}
    />
  )
}
