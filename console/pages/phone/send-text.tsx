import { Select, Text, TextInput, Textarea } from "@mantine/core"
import type { PriceList } from "../../api/answers.ts"
import type { Schema } from "../../api/api-client.ts"
import { useOperationQuery } from "../../api/operations.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { Money } from "../../parts/money.tsx"
import { numberFault, textSenderOptions, usePhoneState } from "./phone-state.ts"

type Values = { readonly to: string; readonly body: string; readonly from: string }

const MAX_CHARACTERS = 1_600

interface SendTextProps {
  /** The recipient; without it the form asks for one. */
  readonly to?: string
  readonly label?: string
}

/** A button with a form that sends a text. */
export function SendText({ to, label = "Send a text" }: SendTextProps) {
  return (
    <ApiCallButton<Values, Schema<"SendTextAnswer">>
      label={label}
      title="Send a text"
      variant="filled"
      initialValues={{ to: to ?? "", body: "", from: "" }}
      validators={{
        to: numberFault,
        body: (body) =>
          body === ""
            ? "Enter a text"
            : [...body].length > MAX_CHARACTERS
              ? `At most ${MAX_CHARACTERS} characters`
              : null,
      }}
      changeOf={({ from, ...values }) => ({
        method: "POST",
        path: "/api/v1/phone/messages",
        body: { ...values, to: values.to.trim(), ...(from === "" ? {} : { from }) },
      })}
      description={<TextPrice />}
      fields={(form) => (
        <>
          <TextInput
            label="To"
            placeholder="+14155550123"
            inputMode="tel"
            readOnly={to !== undefined}
            {...form.getInputProps("to")}
          />
          <From {...form.getInputProps("from")} />
          <Textarea
            label="Text"
            data-autofocus
            autosize
            minRows={3}
            maxRows={10}
            description={`${[...form.values.body].length} of ${MAX_CHARACTERS} characters`}
            {...form.getInputProps("body")}
          />
        </>
      )}
      submitLabel="Send"
      successMessage="The text is queued. The list shows its status."
    />
  )
}

function From(props: { readonly value?: string; readonly onChange?: (value: string) => void }) {
  const { data: state } = usePhoneState()
  return (
    <Select
      label="From"
      placeholder="The first number"
      clearable
      clearButtonProps={{ "aria-label": "From the first number" }}
      data={state === undefined ? [] : textSenderOptions(state)}
      value={props.value === "" ? null : (props.value ?? null)}
      onChange={(value) => props.onChange?.(value ?? "")}
    />
  )
}

function TextPrice() {
  const prices = useOperationQuery<PriceList>("price-list").data?.prices ?? []
  const price = prices.find(({ item }) => item === "text_segment")
  return (
    <Text size="sm" span>
      The text is sent immediately and charged per segment
      {price === undefined ? null : (
        <>
          : <Money micros={price.unitPriceMicros} /> each in the US and Canada
        </>
      )}
      . A first text includes how to opt out.
    </Text>
  )
}
