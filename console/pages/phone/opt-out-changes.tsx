import { TextInput } from "@mantine/core"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { numberFault } from "./phone-state.ts"

const PATH = "/api/v1/phone/opt-outs"

/** A button: stops texting a number; which one is asked for where it is not known. */
export function AddOptOut({ phone }: { readonly phone?: string }) {
  return (
    <ApiCallButton<{ readonly phone: string }>
      label={phone === undefined ? "Add an opt-out" : "Stop texting"}
      description="Every text to it is refused from now on, until that is undone here."
      initialValues={{ phone: phone ?? "" }}
      validators={{ phone: numberFault }}
      changeOf={(values) => ({ method: "POST", path: PATH, body: { phone: values.phone.trim() } })}
      fields={(form) => (
        <TextInput
          label="Number"
          placeholder="+14155550123"
          inputMode="tel"
          data-autofocus
          readOnly={phone !== undefined}
          {...form.getInputProps("phone")}
        />
      )}
      submitLabel="Stop texting"
      successMessage="This number is not texted any more."
    />
  )
}

/** A button: lets a number be texted again that was added here. */
export function RemoveOptOut({ phone }: { readonly phone: string }) {
  return (
    <ApiCallButton
      label="Undo"
      title={`Text ${phoneText(phone)} again`}
      variant="subtle"
      description="It can be texted again from now on. An opt-out that somebody texted stays: they undo it by texting START."
      changeOf={() => ({ method: "DELETE", path: PATH, body: { phone } })}
      submitLabel="Undo the opt-out"
      successMessage="This number can be texted again."
    />
  )
}
