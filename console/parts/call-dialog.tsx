import type { Change } from "../api/change.ts"
import { useChange } from "../api/change.ts"
import { CopyAs, curlOfChange } from "./copy-as.tsx"
import type { DialogVariant } from "./dialog-button.tsx"
import { DialogButton } from "./dialog-button.tsx"
import type { DialogTerms } from "./dialog-form.tsx"
import { DialogForm } from "./dialog-form.tsx"

type Optional = "initial" | "fields" | "does"

interface CallDialogProps<Values extends Record<string, unknown>, Answer>
  extends
    Omit<DialogTerms<Values, Answer>, Optional>,
    Partial<Pick<DialogTerms<Values, Answer>, Optional>> {
  /** On the button that opens it. */
  readonly label: string
  readonly title?: string
  /** What is asked of the API. */
  readonly changeOf: (values: Values) => Change
  readonly variant?: DialogVariant
}

/** A button that says what a route of the API will do, asks for what that needs, and does it. */
export function CallDialog<Values extends Record<string, unknown>, Answer = unknown>(
  props: CallDialogProps<Values, Answer>,
) {
  const { label, title, variant, isDangerous } = props
  return (
    <DialogButton
      {...{ label, title, variant, isDangerous }}
      size={props.fields === undefined ? "md" : "lg"}
    >
      {(close) => <Body {...props} onClose={close} />}
    </DialogButton>
  )
}

function Body<Values extends Record<string, unknown>, Answer>(
  props: CallDialogProps<Values, Answer> & { readonly onClose: () => void },
) {
  const { changeOf, label } = props
  const change = useChange()
  return (
    <DialogForm<Values, Answer>
      {...props}
      initial={props.initial ?? ({} as Values)}
      fields={props.fields ?? (() => null)}
      does={props.does ?? label}
      act={(values) => change<Answer>(changeOf(values))}
      copyAs={(values) => <CopyAs what="curl" command={curlOfChange(changeOf(values))} />}
    />
  )
}
